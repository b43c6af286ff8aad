// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves temporaries to the entry block, at the largest size that they take.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kvern {
#define GEN_PASS_DEF_HOISTALLOCATIONS
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Alignment of every temporary, one cache line.
static constexpr int64_t kAlignment = 64;

namespace {
/// Builds sizes at the start of a function out of its arguments and constants.
class EntrySizes {
public:
  EntrySizes(Block &entry, OpBuilder &builder)
      : entry(entry), builder(builder) {}

  /// `value` itself, computed in the entry block; null when it depends on more
  /// than arguments and constants.
  Value exact(Value value) {
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

  /// At least `value`: a minimum is bounded by those of its operands that can
  /// be computed in the entry block.
  Value upperBound(Value value) {
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

private:
  /// The size of a memref that is an argument, an allocation, or one of them
  /// with axes merged.
  Value sizeOf(Value memory, int64_t axis) {
    Location loc = memory.getLoc();
    auto type = cast<MemRefType>(memory.getType());
    if (!type.isDynamicDim(axis)) {
      return arith::ConstantIndexOp::create(builder, loc,
                                            type.getDimSize(axis));
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
    for (int64_t source : collapse.getReassociationIndices()[axis]) {
      Value size = sizeOf(collapse.getSrc(), source);
      if (!size) {
        return Value();
      }
      product =
          product ? arith::MulIOp::create(builder, loc, product, size) : size;
    }
    return product;
  }

  Value minimum(Value a, Value b) {
    return arith::MinSIOp::create(builder, a.getLoc(), a, b);
  }

  /// The map with loop indices that it subtracts at their least value, 0.
  static AffineMap dropSubtractedIndices(AffineMap map,
                                         ArrayRef<Value> operands) {
    MLIRContext *context = map.getContext();
    AffineExpr expr = map.getResult(0);
    for (unsigned i = 0; i < operands.size(); ++i) {
      auto index = dyn_cast<BlockArgument>(operands[i]);
      auto loop = index ? dyn_cast<scf::ForOp>(index.getOwner()->getParentOp())
                        : scf::ForOp();
      if (!loop || getConstantIntValue(loop.getLowerBound()) != 0 ||
          index != loop.getInductionVar()) {
        continue;
      }
      unsigned dims = map.getNumDims();
      AffineExpr name = i < dims ? getAffineDimExpr(i, context)
                                 : getAffineSymbolExpr(i - dims, context);
      AffineExpr without =
          expr.replace(name, getAffineConstantExpr(0, context));
      if (simplifyAffineExpr(expr - without + name, dims,
                             map.getNumSymbols()) ==
          getAffineConstantExpr(0, context)) {
        expr = without;
      }
    }
    return AffineMap::get(map.getNumDims(), map.getNumSymbols(), expr);
  }

  Value boundMin(affine::AffineMinOp min) {
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
        Value bound = affine::AffineApplyOp::create(builder, min.getLoc(), part,
                                                    operands);
        best = best ? minimum(best, bound) : bound;
      }
    }
    return best;
  }

  Block &entry;
  OpBuilder &builder;
  DenseMap<Value, Value> known;
};

struct HoistAllocationsPass
    : kvern::impl::HoistAllocationsBase<HoistAllocationsPass> {
  using HoistAllocationsBase::HoistAllocationsBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    Block &entry = getOperation().getBody().front();
    SmallVector<memref::AllocOp> allocations;
    getOperation().walk([&](memref::AllocOp op) { allocations.push_back(op); });
    SmallVector<memref::DeallocOp> frees;
    getOperation().walk([&](memref::DeallocOp op) { frees.push_back(op); });
    llvm::for_each(frees, [](memref::DeallocOp op) { op.erase(); });

    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    EntrySizes sizes(entry, builder);
    int64_t stackBytes = 0;
    for (memref::AllocOp op : allocations) {
      if (op.getType().hasStaticShape()) {
        moveStatic(op, builder, stackBytes);
      } else if (failed(moveDynamic(op, builder, sizes))) {
        op->emitError(
            "has a size that is not bounded by the kernel's arguments");
        return signalPassFailure();
      }
    }
  }

  void moveStatic(memref::AllocOp op, OpBuilder &builder, int64_t &stackBytes) {
    MemRefType type = op.getType();
    Type element = type.getElementType();
    int64_t bytes = llvm::alignTo(
        llvm::divideCeil(
            element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64, 8) *
            type.getNumElements(),
        kAlignment);
    auto alignment = builder.getI64IntegerAttr(kAlignment);
    Value moved;
    if (stackBytes + bytes <= maxStackBytes) {
      stackBytes += bytes;
      moved = memref::AllocaOp::create(builder, op.getLoc(), type, alignment);
    } else {
      moved = memref::AllocOp::create(builder, op.getLoc(), type, alignment);
    }
    op.replaceAllUsesWith(moved);
    op.erase();
  }

  /// Allocates bytes for the largest size, and a view of the actual size where
  /// the allocation was.
  static LogicalResult moveDynamic(memref::AllocOp op, OpBuilder &builder,
                                   EntrySizes &sizes) {
    MemRefType type = op.getType();
    if (!type.getLayout().isIdentity()) {
      return failure();
    }
    Location loc = op.getLoc();
    int64_t elementBytes =
        type.getElementType().isIntOrFloat()
            ? llvm::divideCeil(type.getElementTypeBitWidth(), 8)
            : 8;
    int64_t staticBytes = elementBytes;
    for (int64_t size : type.getShape()) {
      staticBytes *= ShapedType::isDynamic(size) ? 1 : size;
    }
    Value bytes = arith::ConstantIndexOp::create(builder, loc, staticBytes);
    for (Value size : op.getDynamicSizes()) {
      Value bound = sizes.upperBound(size);
      if (!bound) {
        return failure();
      }
      bytes = arith::MulIOp::create(builder, loc, bytes, bound);
    }
    auto byteType =
        MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    Value memory = memref::AllocOp::create(
        builder, loc, byteType, bytes, builder.getI64IntegerAttr(kAlignment));
    OpBuilder here(op);
    Value zero = arith::ConstantIndexOp::create(here, loc, 0);
    Value view = memref::ViewOp::create(here, loc, type, memory, zero,
                                        op.getDynamicSizes());
    op.replaceAllUsesWith(view);
    op.erase();
    return success();
  }
};
} // namespace
