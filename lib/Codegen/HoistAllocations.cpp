// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves temporaries out of loops, at the largest size that they take.
#include "lib/Codegen/EntrySizes.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kvern {
#define GEN_PASS_DEF_HOISTALLOCATIONS
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Alignment of every temporary, one cache line.
static constexpr int64_t kAlignment = 64;

/// The bytes of static memory, in whole cache lines; none for other memory.
static int64_t bytesOf(MemRefType type) {
  if (!type.hasStaticShape()) {
    return 0;
  }
  Type element = type.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return llvm::alignTo(llvm::divideCeil(bits, 8) * type.getNumElements(),
                       kAlignment);
}

namespace {
struct HoistAllocationsPass
    : kvern::impl::HoistAllocationsBase<HoistAllocationsPass> {
  using HoistAllocationsBase::HoistAllocationsBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<memref::AllocOp> allocations;
    getOperation().walk([&](memref::AllocOp op) {
      if (!isPlaced(op)) {
        allocations.push_back(op);
      }
    });
    SmallVector<memref::DeallocOp> frees;
    getOperation().walk([&](memref::DeallocOp op) { frees.push_back(op); });
    llvm::for_each(frees, [](memref::DeallocOp op) { op.erase(); });

    Block &entry = getOperation().getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    EntrySizes sizes(entry, builder);
    int64_t stackBytes = 0;
    getOperation().walk(
        [&](memref::AllocaOp op) { stackBytes += bytesOf(op.getType()); });
    for (memref::AllocOp op : allocations) {
      if (op.getType().hasStaticShape()) {
        moveStatic(op, stackBytes);
      } else if (failed(moveDynamic(op, builder, sizes))) {
        op->emitError(
            "has a size that is not bounded by the kernel's arguments");
        return signalPassFailure();
      }
    }
  }

  /// Whether nothing is left to do for a temporary of run-time size.
  bool isPlaced(memref::AllocOp op) {
    Block &entry = getOperation().getBody().front();
    return op.getAlignment() && op->getBlock() == &scratchBlock(op) &&
           !op.getType().hasStaticShape() &&
           llvm::all_of(op.getDynamicSizes(), [&](Value size) {
             return size.getParentBlock() == &entry;
           });
  }

  void moveStatic(memref::AllocOp op, int64_t &stackBytes) {
    OpBuilder builder = OpBuilder::atBlockBegin(&scratchBlock(op));
    MemRefType type = op.getType();
    int64_t bytes = bytesOf(type);
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
    Block &block = scratchBlock(op);
    OpBuilder atStart = &block == builder.getBlock()
                            ? builder
                            : OpBuilder::atBlockBegin(&block);
    Value memory = memref::AllocOp::create(
        atStart, loc, byteType, bytes, builder.getI64IntegerAttr(kAlignment));
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
