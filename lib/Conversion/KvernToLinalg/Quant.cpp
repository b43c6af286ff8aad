//===- Quant.cpp - Products with quantized weights ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Quant.h"
#include "lib/Conversion/KvernToLinalg/Indexing.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Conversion/KvernToLinalg/QuantBlocks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

/// The elements of `blocks`, as f32 of sizes `shape`.
static Value dequantize(LoopBuilder &loops, Value blocks,
                        ArrayRef<DimAttr> shape, StringRef encoding) {
  return loops.elementwise(
      shape, loops.builder.getF32Type(), {},
      [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
        SmallVector<Value> places;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          places.push_back(linalg::IndexOp::create(b, axis));
        }
        Value k = places.pop_back_val();
        auto read = [&](Value place) -> Value {
          SmallVector<Value> all(places);
          all.push_back(place);
          return tensor::ExtractOp::create(b, blocks, all);
        };
        return readElement(b, encoding, read, k);
      });
}

namespace {

struct DequantizeConversion : OpConversionPattern<DequantizeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(DequantizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    ArrayRef<DimAttr> shape = cast<kvern::TensorType>(op.getType()).getShape();
    rewriter.replaceOp(
        op, dequantize(loops, adaptor.getBlocks(), shape, op.getEncoding()));
    return success();
  }
};

/// The definition: numbers first, then their product. What weights become is
/// below.
struct QuantizedMatmulConversion : OpConversionPattern<QuantizedMatmulOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(QuantizedMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    auto lhs = cast<kvern::TensorType>(op.getLhs().getType());
    ArrayRef<DimAttr> shape = type.getShape();
    Type storage = getStorageType(type.getElementType());
    if (isEmpty(lhs.getShape()) || isEmpty(shape)) {
      auto zero = cast<TypedAttr>(rewriter.getZeroAttr(storage));
      rewriter.replaceOp(op, loops.fill(shape, zero));
      return success();
    }
    int64_t k = shape.size();
    SmallVector<DimAttr, 2> sizes = {shape.back(), lhs.getShape().back()};
    Value weights =
        dequantize(loops, adaptor.getBlocks(), sizes, op.getEncoding());
    Value init = loops.fill(shape, rewriter.getF32FloatAttr(0));
    AffineMap all = rewriter.getMultiDimIdentityMap(k + 1);
    SmallVector<AffineMap> maps{all.dropResult(k - 1),
                                all.getSliceMap(k - 1, 2), all.dropResult(k)};
    SmallVector<IteratorType> iterators(k + 1, IteratorType::parallel);
    iterators[k] = IteratorType::reduction;
    auto product = linalg::GenericOp::create(
        rewriter, op.getLoc(), init.getType(),
        ValueRange{adaptor.getLhs(), weights}, init, maps, iterators,
        [&](OpBuilder &nested, Location loc, ValueRange arguments) {
          ImplicitLocOpBuilder b(loc, nested);
          Scalar s(b, rewriter.getF32Type());
          Value x = Scalar(b, type.getElementType()).load(arguments[0]);
          Value sum =
              s.accumulate(s.accumulateProduct(x, arguments[1]), arguments[2]);
          linalg::YieldOp::create(nested, loc, sum);
        });
    Value result = product.getResult(0);
    if (!storage.isF32()) {
      result = loops.elementwise(
          shape, storage, loops.all(result, k),
          [&](ImplicitLocOpBuilder &b, ValueRange values) {
            return Scalar(b, type.getElementType()).store(values[0]);
          });
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct PackQuantizedConversion : OpConversionPattern<PackQuantizedOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackQuantizedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Value out = loops.empty(type.getShape(), rewriter.getI8Type());
    rewriter.replaceOpWithNewOp<LoopPackQuantizedOp>(
        op, out.getType(), adaptor.getBlocks(), out, op.getEncoding());
    return success();
  }
};

struct PackedQuantizedMatmulConversion
    : OpConversionPattern<PackedQuantizedMatmulOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackedQuantizedMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Value out =
        loops.empty(type.getShape(), getStorageType(type.getElementType()));
    if (isEmpty(type.getShape())) {
      rewriter.replaceOp(op, out);
      return success();
    }
    rewriter.replaceOpWithNewOp<LoopQuantizedProductOp>(
        op, out.getType(), adaptor.getLhs(), adaptor.getPanels(), out,
        op.getEncoding(), op.getActivations());
    return success();
  }
};

/// Each byte of a row of blocks is read where `kvern.pack_quantized` put it.
struct PackedQuantizedGatherConversion
    : OpConversionPattern<PackedQuantizedGatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackedQuantizedGatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    auto indices = cast<kvern::TensorType>(op.getIndices().getType());
    Value size = loops.index(rewriter.getIndexAttr(op.getRows()));
    Value result =
        pickByIndex(loops, type.getShape(), rewriter.getF32Type(),
                    adaptor.getIndices(), indices, /*axis=*/0, size,
                    [&](ImplicitLocOpBuilder &b, Value row) -> Value {
                      Value k = linalg::IndexOp::create(b, indices.getRank());
                      return readPackedElement(b, op.getEncoding(),
                                               adaptor.getPanels(), row, k);
                    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateQuantPatterns(TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DequantizeConversion, PackQuantizedConversion,
               PackedQuantizedGatherConversion, PackedQuantizedMatmulConversion,
               QuantizedMatmulConversion>(converter, patterns.getContext());
}
