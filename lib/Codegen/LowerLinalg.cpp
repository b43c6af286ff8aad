// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers linalg ops on buffers to loops that LLVM can vectorize.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERLINALG
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Loop `dim` and the one after it walk every operand as one loop would:
/// adjacent contiguous axes, or neither loop is used.
static bool collapses(linalg::GenericOp op, unsigned dim) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    // MLIR's collapsing knows no constant results: an axis of size 1 read at 0.
    if (!llvm::all_of(map.getResults(), llvm::IsaPred<AffineDimExpr>)) {
      return false;
    }
    if (!map.isFunctionOfDim(dim) && !map.isFunctionOfDim(dim + 1)) {
      return true;
    }
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !map.isProjectedPermutation()) {
      return false;
    }
    MLIRContext *context = op.getContext();
    auto first = map.getResultPosition(getAffineDimExpr(dim, context));
    auto second = map.getResultPosition(getAffineDimExpr(dim + 1, context));
    if (!first || !second || *second != *first + 1) {
      return false;
    }
    SmallVector<ReassociationIndices> groups;
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
      if (axis == *second) {
        groups.back().push_back(axis);
      } else {
        groups.push_back({axis});
      }
    }
    return memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups);
  });
}

/// Merges loops that walk contiguous memory: long inner loops vectorize better.
static linalg::GenericOp collapseLoops(linalg::GenericOp op,
                                       RewriterBase &rewriter) {
  if (op.hasIndexSemantics()) {
    return op;
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<ReassociationIndices> groups;
  // A loop of one turn costs nothing, but merging it can hide a unit stride.
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (dim != 0 && kinds[dim] == kinds[dim - 1] && ranges[dim] != 1 &&
        ranges[dim - 1] != 1 && collapses(op, dim - 1)) {
      groups.back().push_back(dim);
    } else {
      groups.push_back({dim});
    }
  }
  if (groups.size() == op.getNumLoops()) {
    return op;
  }
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, groups, rewriter);
  if (failed(collapsed)) {
    return op;
  }
  Operation *result = collapsed->collapsedOp;
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(result);
}

/// How much memory likes `dim` as the innermost loop: operands that it walks
/// element by element against operands that it jumps through.
static int64_t contiguity(linalg::GenericOp op, unsigned dim) {
  int64_t score = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(dim)) {
      continue;
    }
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    score += last && last.getPosition() == dim ? 2 : -1;
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

/// Lets LLVM compute partial sums side by side.
static void allowReassociation(linalg::GenericOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    Operation *combiner = value.getDefiningOp();
    Value acc = op.getRegionOutputArgs()[index];
    if (combiner && isa<arith::AddFOp, arith::MulFOp>(combiner) &&
        llvm::is_contained(combiner->getOperands(), acc)) {
      combiner->setAttr(
          "fastmath", arith::FastMathFlagsAttr::get(
                          op.getContext(), arith::FastMathFlags::reassoc |
                                               arith::FastMathFlags::contract));
    }
  }
}

namespace {
/// Emits the loops of one generic.
class LoopEmitter {
public:
  LoopEmitter(linalg::GenericOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()),
        kinds(op.getIteratorTypesArray()), order(chooseOrder(op)),
        indices(op.getNumLoops()) {}

  void emit() {
    rewriter.setInsertionPoint(op);
    zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    sizes = computeSizes();
    unsigned parallel = order.size();
    while (parallel != 0 &&
           kinds[order[parallel - 1]] == utils::IteratorType::reduction) {
      --parallel;
    }
    registersFrom = parallel;
    emitLoop(0, {});
    rewriter.eraseOp(op);
  }

private:
  SmallVector<Value> computeSizes() {
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

  SmallVector<Value> address(OpOperand &operand) {
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

  Value load(OpOperand &operand) {
    if (!isa<MemRefType>(operand.get().getType())) {
      return operand.get();
    }
    return memref::LoadOp::create(rewriter, loc, operand.get(),
                                  address(operand));
  }

  void store(ValueRange values) {
    for (auto [value, init] : llvm::zip(values, op.getDpsInitsMutable())) {
      memref::StoreOp::create(rewriter, loc, value, init.get(), address(init));
    }
  }

  SmallVector<Value> loadOutputs() {
    SmallVector<Value> result;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      bool used = !op.getMatchingBlockArgument(&init).use_empty();
      result.push_back(used ? load(init) : Value());
    }
    return result;
  }

  SmallVector<Value> emitBody(ValueRange outputs) {
    IRMapping mapping;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (!argument.use_empty()) {
        mapping.map(argument, load(*input));
      }
    }
    for (auto [argument, value] :
         llvm::zip(op.getRegionOutputArgs(), outputs)) {
      if (value) {
        mapping.map(argument, value);
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
    for (Value value : op.getBody()->getTerminator()->getOperands()) {
      results.push_back(mapping.lookupOrDefault(value));
    }
    return results;
  }

  /// Emits the loops from `depth` in; inside of `registersFrom`, outputs are
  /// loop-carried values.
  SmallVector<Value> emitLoop(unsigned depth, SmallVector<Value> outputs) {
    bool inRegisters = registersFrom != order.size();
    if (depth == registersFrom && inRegisters) {
      SmallVector<Value> initial;
      for (OpOperand &init : op.getDpsInitsMutable()) {
        initial.push_back(load(init));
      }
      SmallVector<Value> results = emitReduction(depth, initial);
      store(results);
      return {};
    }
    if (depth == order.size()) {
      store(emitBody(loadOutputs()));
      return {};
    }
    auto loop =
        scf::ForOp::create(rewriter, loc, zero, sizes[order[depth]], one);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    indices[order[depth]] = loop.getInductionVar();
    emitLoop(depth + 1, {});
    return {};
  }

  SmallVector<Value> emitReduction(unsigned depth, ValueRange outputs) {
    if (depth == order.size()) {
      return emitBody(outputs);
    }
    auto loop = scf::ForOp::create(rewriter, loc, zero, sizes[order[depth]],
                                   one, outputs);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(loop.getBody());
    indices[order[depth]] = loop.getInductionVar();
    SmallVector<Value> inner =
        emitReduction(depth + 1, loop.getRegionIterArgs());
    scf::YieldOp::create(rewriter, loc, inner);
    return SmallVector<Value>(loop.getResults());
  }

  linalg::GenericOp op;
  RewriterBase &rewriter;
  Location loc;
  SmallVector<utils::IteratorType> kinds;
  SmallVector<unsigned> order;
  SmallVector<Value> indices, sizes;
  Value zero, one;
  unsigned registersFrom = 0;
};

struct LowerLinalgPass : kvern::impl::LowerLinalgBase<LowerLinalgPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp op : copies) {
      if (op.getSource() != op.getTarget()) {
        rewriter.setInsertionPoint(op);
        linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                                 op.getTarget());
      }
      rewriter.eraseOp(op);
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics()) {
        ops.push_back(op);
      }
    });
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, op);
      auto lowered = succeeded(generic)
                         ? *generic
                         : dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!lowered) {
        if (failed(linalg::linalgOpToLoops(rewriter, op))) {
          op->emitError("cannot be lowered to loops");
          return signalPassFailure();
        }
        rewriter.eraseOp(op);
        continue;
      }
      allowReassociation(lowered);
      rewriter.setInsertionPoint(lowered);
      LoopEmitter(collapseLoops(lowered, rewriter), rewriter).emit();
    }
  }
};
} // namespace
