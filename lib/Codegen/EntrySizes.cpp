// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes at the start of a kernel.
#include "lib/Codegen/EntrySizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace kvern;

Value EntrySizes::exact(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    return argument.getOwner() == &entry ? value : Value();
  }
  if (auto it = known.find(value); it != known.end()) {
    return it->second;
  }
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    if (std::optional<int64_t> axis = dim.getConstantIndex()) {
      return known[value] = sizeOf(dim.getSource(), *axis);
    }
  }
  if (!isPure(op) || op->getNumRegions() != 0 || op->getNumResults() != 1) {
    return Value();
  }
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value copy = exact(operand);
    if (!copy) {
      return Value();
    }
    mapping.map(operand, copy);
  }
  return known[value] = builder.clone(*op, mapping)->getResult(0);
}

Value EntrySizes::upperBound(Value value) {
  if (Value same = exact(value)) {
    return same;
  }
  Operation *op = value.getDefiningOp();
  if (auto min = dyn_cast_if_present<affine::AffineMinOp>(op)) {
    return boundMin(min);
  }
  if (isa_and_present<arith::MinSIOp, arith::MinUIOp>(op)) {
    Value a = upperBound(op->getOperand(0));
    Value b = upperBound(op->getOperand(1));
    return a && b ? minimum(a, b) : a ? a : b;
  }
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    Value a = upperBound(select.getTrueValue());
    Value b = upperBound(select.getFalseValue());
    return a && b ? arith::MaxSIOp::create(builder, op->getLoc(), a, b)
                  : Value();
  }
  return Value();
}

/// The size of a memref that is an argument, an allocation, or one of them with
/// axes merged.
Value EntrySizes::sizeOf(Value memory, int64_t axis) {
  Location loc = memory.getLoc();
  auto type = cast<MemRefType>(memory.getType());
  if (!type.isDynamicDim(axis)) {
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(axis));
  }
  if (Value same = exact(memory)) {
    return memref::DimOp::create(builder, loc, same, axis);
  }
  if (auto alloc = memory.getDefiningOp<memref::AllocOp>()) {
    return exact(alloc.getDynamicSizes()[type.getDynamicDimIndex(axis)]);
  }
  if (auto view = memory.getDefiningOp<memref::ViewOp>()) {
    return exact(view.getSizes()[type.getDynamicDimIndex(axis)]);
  }
  auto collapse = memory.getDefiningOp<memref::CollapseShapeOp>();
  if (!collapse) {
    return Value();
  }
  Value product;
  SmallVector<ReassociationIndices, 4> groups =
      collapse.getReassociationIndices();
  for (int64_t source : groups[axis]) {
    Value size = sizeOf(collapse.getSrc(), source);
    if (!size) {
      return Value();
    }
    product =
        product ? arith::MulIOp::create(builder, loc, product, size) : size;
  }
  return product;
}

Value EntrySizes::minimum(Value a, Value b) {
  return arith::MinSIOp::create(builder, a.getLoc(), a, b);
}

/// Whether `value` is the index of a loop that counts from 0.
static bool startsAtZero(BlockArgument value) {
  auto loop = dyn_cast<LoopLikeOpInterface>(value.getOwner()->getParentOp());
  std::optional<SmallVector<Value>> indices =
      loop ? loop.getLoopInductionVars() : std::nullopt;
  std::optional<SmallVector<OpFoldResult>> from =
      loop ? loop.getLoopLowerBounds() : std::nullopt;
  if (!indices || !from) {
    return false;
  }
  for (auto [index, bound] : llvm::zip(*indices, *from)) {
    if (index == value) {
      return getConstantIntValue(bound) == 0;
    }
  }
  return false;
}

/// The map with loop indices that it subtracts at their least value, 0.
static AffineMap dropSubtractedIndices(AffineMap map,
                                       ArrayRef<Value> operands) {
  MLIRContext *context = map.getContext();
  AffineExpr expr = map.getResult(0);
  for (unsigned i = 0; i < operands.size(); ++i) {
    auto index = dyn_cast<BlockArgument>(operands[i]);
    if (!index || !startsAtZero(index)) {
      continue;
    }
    unsigned dims = map.getNumDims();
    AffineExpr name = i < dims ? getAffineDimExpr(i, context)
                               : getAffineSymbolExpr(i - dims, context);
    AffineExpr without = expr.replace(name, getAffineConstantExpr(0, context));
    if (simplifyAffineExpr(expr - without + name, dims, map.getNumSymbols()) ==
        getAffineConstantExpr(0, context)) {
      expr = without;
    }
  }
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), expr);
}

Value EntrySizes::boundMin(affine::AffineMinOp min) {
  Value best;
  AffineMap map = min.getMap();
  for (unsigned index = 0, e = map.getNumResults(); index < e; ++index) {
    AffineMap part = map.getSubMap({index});
    SmallVector<Value> operands = min.getOperands();
    part = dropSubtractedIndices(part, operands);
    affine::canonicalizeMapAndOperands(&part, &operands);
    if (isa<AffineDimExpr, AffineSymbolExpr>(part.getResult(0))) {
      operands[0] = upperBound(operands[0]);
    }
    bool inEntry = llvm::all_of(operands, [&](Value &operand) {
      operand = operand ? exact(operand) : operand;
      return static_cast<bool>(operand);
    });
    if (inEntry) {
      Value bound =
          affine::AffineApplyOp::create(builder, min.getLoc(), part, operands);
      best = best ? minimum(best, bound) : bound;
    }
  }
  return best;
}
