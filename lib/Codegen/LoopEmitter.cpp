// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops for a linalg.generic on buffers.
#include "lib/Codegen/LoopEmitter.h"

#include "lib/Codegen/VectorLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kvern;

/// How much memory likes `dim` as the innermost loop: operands that it walks
/// element by element against operands that it jumps through, by how many axes
/// they have. A loop of one turn is no innermost loop.
static int64_t contiguity(linalg::GenericOp op, unsigned dim) {
  if (op.getStaticLoopRanges()[dim] == 1) {
    return -1000;
  }
  int64_t score = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(dim)) {
      continue;
    }
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    int64_t weight = map.getNumResults() * map.getNumResults();
    score += last && last.getPosition() == dim ? 2 * weight : -weight;
  }
  return score;
}

/// The loops from the outermost in. Reductions are innermost, in registers,
/// unless a parallel loop walks memory better.
static SmallVector<unsigned> chooseOrder(linalg::GenericOp op) {
  SmallVector<unsigned> parallel, reduction;
  op.getParallelDims(parallel);
  op.getReductionDims(reduction);
  auto best = [&](ArrayRef<unsigned> dims) {
    return *llvm::max_element(llvm::reverse(dims), [&](unsigned a, unsigned b) {
      return contiguity(op, a) < contiguity(op, b);
    });
  };
  SmallVector<unsigned> order;
  auto append = [&](ArrayRef<unsigned> dims, std::optional<unsigned> last) {
    for (unsigned dim : dims) {
      if (dim != last) {
        order.push_back(dim);
      }
    }
  };
  std::optional<unsigned> inner;
  if (reduction.empty()) {
    if (!parallel.empty()) {
      inner = best(parallel);
    }
    append(parallel, inner);
  } else {
    unsigned innerReduction = best(reduction);
    if (!parallel.empty() &&
        contiguity(op, best(parallel)) > contiguity(op, innerReduction)) {
      inner = best(parallel);
      append(parallel, inner);
      append(reduction, std::nullopt);
    } else {
      inner = innerReduction;
      append(parallel, std::nullopt);
      append(reduction, inner);
    }
  }
  if (inner) {
    order.push_back(*inner);
  }
  return order;
}

namespace {
class LoopEmitter {
public:
  LoopEmitter(linalg::GenericOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()), order(chooseOrder(op)),
        indices(op.getNumLoops()) {}

  void emit(int64_t vectorBits);

private:
  SmallVector<Value> computeSizes();
  SmallVector<Value> address(OpOperand &operand);
  Value load(OpOperand &operand);

  /// The outputs of one element, from the carried ones; stores the others.
  SmallVector<Value> emitBody(ValueRange sums);
  SmallVector<Value> emitInnermost(ValueRange sums);
  /// Emits the loops from `depth` in. From `carriedFrom` in, `sums` are the
  /// outputs that the loops carry.
  SmallVector<Value> emitLoop(unsigned depth, ValueRange sums);

  linalg::GenericOp op;
  RewriterBase &rewriter;
  Location loc;
  SmallVector<unsigned> order;
  SmallVector<Value> indices, sizes;
  Value zero, one;
  /// Depth from which on all loops are reductions.
  unsigned carriedFrom = 0;
  /// Outputs that do not change along these loops.
  SmallVector<bool> isCarried;
  FailureOr<VectorLoop> vectorLoop = failure();
};
} // namespace

void LoopEmitter::emit(int64_t vectorBits) {
  rewriter.setInsertionPoint(op);
  zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  sizes = computeSizes();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  carriedFrom = order.size();
  while (carriedFrom != 0 &&
         kinds[order[carriedFrom - 1]] == utils::IteratorType::reduction) {
    --carriedFrom;
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    ArrayRef<unsigned> inner = ArrayRef(order).drop_front(carriedFrom);
    isCarried.push_back(!inner.empty() &&
                        llvm::none_of(inner, [&](unsigned dim) {
                          return map.isFunctionOfDim(dim);
                        }));
  }
  if (!order.empty()) {
    vectorLoop = VectorLoop::match(op, order.back(), isCarried, vectorBits);
  }
  emitLoop(0, {});
  rewriter.eraseOp(op);
}

SmallVector<Value> LoopEmitter::computeSizes() {
  SmallVector<Value> result(op.getNumLoops());
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      std::optional<unsigned> axis =
          map.getResultPosition(getAffineDimExpr(dim, op.getContext()));
      if (axis) {
        OpFoldResult size =
            memref::getMixedSize(rewriter, loc, operand.get(), *axis);
        result[dim] = getValueOrCreateConstantIndexOp(rewriter, loc, size);
        break;
      }
    }
  }
  return result;
}

SmallVector<Value> LoopEmitter::address(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> result;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(indices[dim.getPosition()]);
      continue;
    }
    result.push_back(affine::AffineApplyOp::create(
        rewriter, loc, AffineMap::get(map.getNumDims(), 0, expr), indices));
  }
  return result;
}

Value LoopEmitter::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType())) {
    return operand.get();
  }
  return memref::LoadOp::create(rewriter, loc, operand.get(), address(operand));
}

SmallVector<Value> LoopEmitter::emitBody(ValueRange sums) {
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty()) {
      mapping.map(argument, load(*input));
    }
  }
  for (auto [init, carried] : llvm::zip(op.getDpsInitsMutable(), isCarried)) {
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    if (carried) {
      mapping.map(argument, sums.front());
      sums = sums.drop_front();
    } else if (!argument.use_empty()) {
      mapping.map(argument, load(init));
    }
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    rewriter.clone(inner, mapping);
  }
  SmallVector<Value> results;
  for (auto [init, carried, yielded] :
       llvm::zip(op.getDpsInitsMutable(), isCarried,
                 op.getBody()->getTerminator()->getOperands())) {
    Value value = mapping.lookupOrDefault(yielded);
    if (carried) {
      results.push_back(value);
    } else {
      memref::StoreOp::create(rewriter, loc, value, init.get(), address(init));
    }
  }
  return results;
}

SmallVector<Value> LoopEmitter::emitInnermost(ValueRange initial) {
  unsigned dim = order.back();
  Value from = zero;
  SmallVector<Value> sums(initial);
  if (succeeded(vectorLoop)) {
    from = vectorLoop->emit(rewriter, indices, sizes[dim], sums);
    if (!from) {
      return sums;
    }
  }
  auto loop = scf::ForOp::create(rewriter, loc, from, sizes[dim], one, sums);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  indices[dim] = loop.getInductionVar();
  SmallVector<Value> results = emitBody(loop.getRegionIterArgs());
  if (!sums.empty()) {
    scf::YieldOp::create(rewriter, loc, results);
  }
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> LoopEmitter::emitLoop(unsigned depth, ValueRange sums) {
  if (depth == carriedFrom && sums.empty() &&
      llvm::is_contained(isCarried, true)) {
    SmallVector<OpOperand *> carried;
    SmallVector<Value> initial;
    for (auto [init, isSum] : llvm::zip(op.getDpsInitsMutable(), isCarried)) {
      if (isSum) {
        carried.push_back(&init);
        initial.push_back(load(init));
      }
    }
    SmallVector<Value> results = emitLoop(depth, initial);
    for (auto [init, value] : llvm::zip(carried, results)) {
      memref::StoreOp::create(rewriter, loc, value, init->get(),
                              address(*init));
    }
    return {};
  }
  if (depth == order.size()) {
    return emitBody(sums);
  }
  if (depth + 1 == order.size()) {
    return emitInnermost(sums);
  }
  auto loop =
      scf::ForOp::create(rewriter, loc, zero, sizes[order[depth]], one, sums);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  indices[order[depth]] = loop.getInductionVar();
  SmallVector<Value> results = emitLoop(depth + 1, loop.getRegionIterArgs());
  if (!sums.empty()) {
    scf::YieldOp::create(rewriter, loc, results);
  }
  return SmallVector<Value>(loop.getResults());
}

void kvern::emitLoops(linalg::GenericOp op, int64_t vectorBits,
                      RewriterBase &rewriter) {
  LoopEmitter(op, rewriter).emit(vectorBits);
}
