//===- Buffer.cpp - Memory changed in place -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/KVCache.h"

#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Conversion/KvernToLinalg/Slice.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

/// Whether an op after `op` changes a buffer. Two buffers may be one memory.
static bool isStoredAfter(Operation *op) {
  while ((op = op->getNextNode())) {
    if (isa<BufferStoreOp, BufferStoreSliceOp, KVCopyPagesOp>(op)) {
      return true;
    }
  }
  return false;
}

static void store(OpBuilder &builder, Location location, Value source,
                  Value destination) {
  bufferization::MaterializeInDestinationOp::create(
      builder, location, /*result=*/Type(), source, destination,
      /*restrict=*/true, /*writable=*/true);
}

namespace {

/// A copy, unless nothing can change the buffer before the kernel ends.
/// bufferization.alloc_tensor is not moved or removed as a linalg copy would
/// be.
struct BufferLoadConversion : OpConversionPattern<BufferLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BufferLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value tensor = bufferization::ToTensorOp::create(
        rewriter, op.getLoc(), type, adaptor.getBuffer(), /*restrict=*/true);
    if (isStoredAfter(op)) {
      tensor = bufferization::AllocTensorOp::create(rewriter, op.getLoc(), type,
                                                    ValueRange(), tensor);
    }
    rewriter.replaceOp(op, tensor);
    return success();
  }
};

struct BufferStoreConversion : OpConversionPattern<BufferStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BufferStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    store(rewriter, op.getLoc(), adaptor.getSource(), adaptor.getDestination());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A store to a view of the buffer. An axis that runs backwards is stored
/// forwards, from its other end, with the source reversed.
struct BufferStoreSliceConversion : OpConversionPattern<BufferStoreSliceOp> {
  using OpConversionPattern::OpConversionPattern;

  static Value reverse(LoopBuilder &loops, Value source,
                       ArrayRef<DimAttr> shape, ArrayRef<int64_t> steps) {
    SmallVector<Value> lasts;
    for (DimAttr dim : shape) {
      lasts.push_back(loops.index(loops.size(dim + -1)));
    }
    Type type = cast<RankedTensorType>(source.getType()).getElementType();
    return loops.elementwise(
        shape, type, {}, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
          SmallVector<Value> places;
          for (auto [axis, last] : llvm::enumerate(lasts)) {
            Value i = linalg::IndexOp::create(b, axis);
            places.push_back(
                steps[axis] > 0
                    ? i
                    : arith::SubIOp::create(b, last, i).getResult());
          }
          return tensor::ExtractOp::create(b, source, places);
        });
  }

  LogicalResult
  matchAndRewrite(BufferStoreSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<BufferType>(op.getDestination().getType());
    ArrayRef<DimAttr> shape =
        cast<kvern::TensorType>(op.getSource().getType()).getShape();
    ArrayRef<int64_t> steps = op.getSteps();
    if (isEmptySlice(type.getShape(), op.getStarts(), shape)) {
      rewriter.eraseOp(op);
      return success();
    }
    SmallVector<OpFoldResult> starts =
        getSliceStarts(loops, type.getShape(), op.getStarts(), steps,
                       op.getBounds(), adaptor.getBounds());
    Value source = adaptor.getSource();
    if (llvm::any_of(steps, [](int64_t step) { return step < 0; })) {
      source = reverse(loops, source, shape, steps);
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<OpFoldResult> strides;
    for (auto [axis, step] : llvm::enumerate(steps)) {
      strides.push_back(rewriter.getIndexAttr(std::abs(step)));
      if (step < 0) {
        // start + (count - 1) * step
        Value last = loops.index(loops.size((shape[axis] + -1) * step));
        starts[axis] = arith::AddIOp::create(b, loops.index(starts[axis]), last)
                           .getResult();
      }
    }
    Value part = memref::SubViewOp::create(
        rewriter, op.getLoc(), adaptor.getDestination(), starts,
        loops.dims.getFoldResults(rewriter, op.getLoc(), shape), strides);
    store(rewriter, op.getLoc(), source, part);
    rewriter.eraseOp(op);
    return success();
  }
};

/// A copy of a view for each page.
struct KVCopyPagesConversion : OpConversionPattern<KVCopyPagesOp> {
  using OpConversionPattern::OpConversionPattern;

  static Value getPage(ImplicitLocOpBuilder &b, Value memory, Value pages,
                       Value at) {
    Value number = tensor::ExtractOp::create(b, pages, at);
    Value page = arith::IndexCastUIOp::create(b, b.getIndexType(), number);
    int64_t rank = cast<MemRefType>(memory.getType()).getRank();
    SmallVector<OpFoldResult> starts(rank, b.getIndexAttr(0));
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(b, b.getLoc(), memory);
    SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
    starts[0] = page;
    sizes[0] = b.getIndexAttr(1);
    return memref::SubViewOp::create(b, memory, starts, sizes, strides);
  }

  LogicalResult
  matchAndRewrite(KVCopyPagesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Other views would be copied element by element, by a runtime of MLIR.
    auto type = cast<BufferType>(op.getSource().getType());
    if (!llvm::all_of(type.getShape().drop_front(), [](DimAttr dim) {
          return dim.getStaticValue().has_value();
        })) {
      return op.emitOpError("expected pages of static sizes, but got ") << type;
    }
    LoopBuilder loops(rewriter, op);
    ArrayRef<DimAttr> pages =
        cast<kvern::TensorType>(op.getSourcePages().getType()).getShape();
    Value count = loops.index(loops.size(pages[0]));
    Value zero = loops.index(rewriter.getIndexAttr(0));
    Value one = loops.index(rewriter.getIndexAttr(1));
    scf::ForOp::create(
        rewriter, op.getLoc(), zero, count, one, ValueRange(),
        [&](OpBuilder &builder, Location location, Value i, ValueRange) {
          ImplicitLocOpBuilder b(location, builder);
          Value from =
              getPage(b, adaptor.getSource(), adaptor.getSourcePages(), i);
          Value to = getPage(b, adaptor.getDestination(),
                             adaptor.getDestinationPages(), i);
          memref::CopyOp::create(b, from, to);
          scf::YieldOp::create(b);
        });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void kvern::populateBufferPatterns(TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  patterns.add<BufferLoadConversion, BufferStoreConversion,
               BufferStoreSliceConversion, KVCopyPagesConversion>(
      converter, patterns.getContext());
}
