//===- Constant.cpp - Values known before the run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace kvern;

/// A number of the element type `from` as one of its compute type.
static TypedAttr getComputeConstant(Attribute value, Type from) {
  Type to = getComputeType(from);
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    return IntegerAttr::get(to, integer.getValue());
  }
  APFloat number = cast<FloatAttr>(value).getValue();
  bool losesInfo;
  number.convert(cast<FloatType>(to).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  return FloatAttr::get(to, number);
}

/// The elements in the storage type; null when their form is not supported.
static TypedAttr getStorageElements(ElementsAttr elements) {
  Type storage = getStorageType(elements.getElementType());
  auto type =
      RankedTensorType::get(elements.getShapedType().getShape(), storage);
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    if (dense.getElementType() == storage) {
      return dense;
    }
    if (!dense.getElementType().isInteger(1)) {
      return dense.bitcast(storage);
    }
    return cast<DenseIntElementsAttr>(dense).mapValues(
        storage, [](const APInt &value) { return value.zext(8); });
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource) {
    return {};
  }
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  int64_t size = type.getNumElements() * (storage.getIntOrFloatBitWidth() / 8);
  if (!blob || static_cast<int64_t>(blob->getData().size()) != size) {
    return {};
  }
  return DenseResourceElementsAttr::get(type, resource.getRawHandle());
}

namespace {

struct ConstantConversion : OpConversionPattern<ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TypedAttr value = getStorageElements(op.getValue());
    if (!value) {
      return op.emitOpError("expected dense elements or a resource of ")
             << op.getValue().getNumElements() << " whole elements";
    }
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

/// start + i * step, in the compute type.
struct RangeConversion : OpConversionPattern<RangeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RangeOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Type elementType = type.getElementType();
    Value result = loops.elementwise(
        type.getShape(), getStorageType(elementType), {},
        [&](ImplicitLocOpBuilder &b, ValueRange) {
          Scalar s(b, elementType);
          Value start = arith::ConstantOp::create(
              b, getComputeConstant(op.getStart(), elementType));
          Value step = arith::ConstantOp::create(
              b, getComputeConstant(op.getStep(), elementType));
          Value i = arith::IndexCastOp::create(b, b.getI64Type(),
                                               linalg::IndexOp::create(b, 0));
          i = castScalar(b, i, b.getI64Type(),
                         s.isFloat() ? s.type : elementType);
          return s.store(s.add(start, s.mul(i, step)));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ShapeToTensorConversion : OpConversionPattern<ShapeToTensorOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ShapeToTensorOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Type i64 = rewriter.getI64Type();
    SmallVector<Value> sizes;
    for (DimAttr dim : op.getShape().getDims()) {
      sizes.push_back(arith::IndexCastOp::create(rewriter, op.getLoc(), i64,
                                                 loops.index(loops.size(dim))));
    }
    if (sizes.empty()) {
      rewriter.replaceOp(op, loops.empty(type.getShape(), i64));
      return success();
    }
    rewriter.replaceOpWithNewOp<tensor::FromElementsOp>(
        op, loops.getType(type.getShape(), i64), sizes);
    return success();
  }
};

} // namespace

void kvern::populateConstantPatterns(TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<ConstantConversion, RangeConversion, ShapeToTensorConversion>(
      converter, patterns.getContext());
}
