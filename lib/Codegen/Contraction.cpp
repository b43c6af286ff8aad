// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognizes matrix products among linalg.generic ops.
#include "lib/Codegen/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvern;

/// The block argument behind an optional extension, whose name goes to
/// `extension`.
static BlockArgument stripExtension(Value value, StringRef &extension) {
  if (Operation *op = value.getDefiningOp();
      op && isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
    extension = op->getName().getStringRef();
    value = op->getOperand(0);
  }
  return dyn_cast<BlockArgument>(value);
}

bool kvern::matchMultiplyAdd(linalg::GenericOp op, StringRef names[2]) {
  Block *body = op.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  Operation *add = yield.getOperand(0).getDefiningOp();
  if (!add || !isa<arith::AddFOp, arith::AddIOp>(add)) {
    return false;
  }
  BlockArgument acc = body->getArgument(2);
  Value product = add->getOperand(0) == acc   ? add->getOperand(1)
                  : add->getOperand(1) == acc ? add->getOperand(0)
                                              : Value();
  Operation *mul = product ? product.getDefiningOp() : nullptr;
  if (!mul || !isa<arith::MulFOp, arith::MulIOp>(mul)) {
    return false;
  }
  StringRef extensions[2];
  BlockArgument inputs[2] = {stripExtension(mul->getOperand(0), extensions[0]),
                             stripExtension(mul->getOperand(1), extensions[1])};
  if (!inputs[0] || !inputs[1]) {
    return false;
  }
  if (inputs[0].getArgNumber() == 1) {
    std::swap(inputs[0], inputs[1]);
    std::swap(extensions[0], extensions[1]);
  }
  if (inputs[0].getArgNumber() != 0 || inputs[1].getArgNumber() != 1 ||
      inputs[0].getOwner() != body || inputs[1].getOwner() != body) {
    return false;
  }
  names[0] = extensions[0];
  names[1] = extensions[1];
  auto operations = 3 + !extensions[0].empty() + !extensions[1].empty();
  return llvm::range_size(body->getOperations()) ==
         static_cast<size_t>(operations);
}

/// The number P of a map that ends in `(n floordiv P, k, n mod P)`, with plain
/// axes before; 0 for any other map.
static int64_t matchPanels(AffineMap map, unsigned &n, unsigned &k) {
  unsigned rank = map.getNumResults();
  if (rank < 3 || !map.getSliceMap(0, rank - 3)
                       .isProjectedPermutation(/*allowZeroInResults=*/true)) {
    return 0;
  }
  auto quotient = dyn_cast<AffineBinaryOpExpr>(map.getResult(rank - 3));
  auto depth = dyn_cast<AffineDimExpr>(map.getResult(rank - 2));
  auto remainder = dyn_cast<AffineBinaryOpExpr>(map.getResult(rank - 1));
  if (!quotient || !depth || !remainder ||
      quotient.getKind() != AffineExprKind::FloorDiv ||
      remainder.getKind() != AffineExprKind::Mod ||
      quotient.getLHS() != remainder.getLHS() ||
      quotient.getRHS() != remainder.getRHS()) {
    return 0;
  }
  auto column = dyn_cast<AffineDimExpr>(quotient.getLHS());
  auto size = dyn_cast<AffineConstantExpr>(quotient.getRHS());
  if (!column || !size || column == depth) {
    return 0;
  }
  n = column.getPosition();
  k = depth.getPosition();
  return size.getValue();
}

FailureOr<Contraction> kvern::matchContraction(Operation *op) {
  Contraction result;
  result.op = dyn_cast<linalg::GenericOp>(op);
  if (!result.op || result.op.getNumDpsInputs() != 2 ||
      result.op.getNumDpsInits() != 1 ||
      result.op.getNumReductionLoops() != 1 ||
      !matchMultiplyAdd(result.op, result.extensions)) {
    return failure();
  }
  SmallVector<AffineMap> maps = result.op.getIndexingMapsArray();
  unsigned packed = 0, panelDim = 0, panelDepth = 0;
  for (auto [operand, map] : llvm::enumerate(maps)) {
    if (map.isProjectedPermutation(/*allowZeroInResults=*/true)) {
      continue;
    }
    int64_t panel = matchPanels(map, panelDim, panelDepth);
    if (panel == 0 || result.panel != 0 || operand == 2) {
      return failure();
    }
    result.panel = panel;
    packed = operand;
  }

  SmallVector<unsigned> lhsOnly, rhsOnly;
  unsigned reductions = 0;
  auto has = [&](unsigned operand, unsigned dim) {
    return maps[operand].isFunctionOfDim(dim);
  };
  for (unsigned dim = 0, e = result.op.getNumLoops(); dim < e; ++dim) {
    if (!has(2, dim)) {
      result.k = dim;
      reductions += has(0, dim) && has(1, dim);
    } else if (has(0, dim) && has(1, dim)) {
      result.batch.push_back(dim);
    } else if (has(0, dim)) {
      lhsOnly.push_back(dim);
    } else if (has(1, dim)) {
      rhsOnly.push_back(dim);
    } else {
      result.outer.push_back(dim);
    }
  }
  if (reductions != 1) {
    return failure();
  }
  // Later in the output is closer in memory.
  auto outPosition = [&](unsigned dim) {
    return *maps[2].getResultPosition(getAffineDimExpr(dim, op->getContext()));
  };
  auto takeLast = [&](SmallVector<unsigned> &dims) -> std::optional<unsigned> {
    if (dims.empty()) {
      return std::nullopt;
    }
    llvm::sort(dims, [&](unsigned a, unsigned b) {
      return outPosition(a) < outPosition(b);
    });
    return dims.pop_back_val();
  };
  result.m = takeLast(lhsOnly);
  result.n = takeLast(rhsOnly);
  if (result.m &&
      (!result.n || outPosition(*result.m) > outPosition(*result.n))) {
    std::swap(result.m, result.n);
    std::swap(result.lhs, result.rhs);
  }
  if (result.panel != 0 && (result.rhs != packed || result.n != panelDim ||
                            result.k != panelDepth)) {
    return failure();
  }
  llvm::append_range(result.outer, lhsOnly);
  llvm::append_range(result.outer, rhsOnly);
  return result;
}

linalg::FillOp kvern::findZeroFill(linalg::GenericOp op) {
  for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(prev);
        fill && fill.getOutputs()[0] == op.getOutputs()[0]) {
      Value value = fill.getInputs()[0];
      return matchPattern(value, m_AnyZeroFloat()) ||
                     matchPattern(value, m_Zero())
                 ? fill
                 : nullptr;
    }
    if (!isMemoryEffectFree(prev)) {
      return nullptr;
    }
  }
  return nullptr;
}
