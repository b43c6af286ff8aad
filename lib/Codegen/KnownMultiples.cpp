// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which sizes and indices are multiples of a number.
#include "lib/Codegen/KnownMultiples.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

static bool isMultipleOf(OpFoldResult value, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    return *constant % factor == 0;
  }
  return kvern::isMultiple(cast<Value>(value), factor);
}

static bool isMultiple(AffineExpr expr, unsigned dims, ValueRange operands,
                       int64_t factor) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    return constant.getValue() % factor == 0;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    return kvern::isMultiple(operands[dim.getPosition()], factor);
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    return kvern::isMultiple(operands[dims + symbol.getPosition()], factor);
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool left = isMultiple(binary.getLHS(), dims, operands, factor);
  bool right = isMultiple(binary.getRHS(), dims, operands, factor);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mod:
    return left && right;
  case AffineExprKind::Mul:
    return left || right;
  default:
    return false;
  }
}

static bool isMultiple(AffineMap map, ValueRange operands, int64_t factor) {
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    return isMultiple(expr, map.getNumDims(), operands, factor);
  });
}

/// A loop's index, which starts at one multiple and steps by others.
static bool isLoopMultiple(BlockArgument index, int64_t factor) {
  auto loop =
      dyn_cast_if_present<LoopLikeOpInterface>(index.getOwner()->getParentOp());
  if (!loop || isa<scf::WhileOp>(loop)) {
    return false;
  }
  std::optional<SmallVector<Value>> indices = loop.getLoopInductionVars();
  std::optional<SmallVector<OpFoldResult>> from = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!indices || !from || !steps) {
    return false;
  }
  for (auto [each, first, step] : llvm::zip(*indices, *from, *steps)) {
    if (each == index) {
      return isMultipleOf(first, factor) && isMultipleOf(step, factor);
    }
  }
  return false;
}

bool kvern::isMultiple(Value value, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    return *constant % factor == 0;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    return isLoopMultiple(argument, factor);
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned number) {
    return isMultiple(op->getOperand(number), factor);
  };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
          arith::MaxSIOp, arith::MaxUIOp>(op)) {
    return operand(0) && operand(1);
  }
  if (isa<arith::MulIOp>(op)) {
    return operand(0) || operand(1);
  }
  if (isa<arith::SelectOp>(op)) {
    return operand(1) && operand(2);
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    return ::isMultiple(apply.getMap(), apply.getOperands(), factor);
  }
  if (auto min = dyn_cast<affine::AffineMinOp>(op)) {
    return ::isMultiple(min.getMap(), min.getOperands(), factor);
  }
  return false;
}
