//===- Norm.cpp - Normalization -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the last axis that sum, loops over rows that turn the sums into
// factors, and one loop over all elements that applies them.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kvern;

namespace {

/// What both norms do to x of shape [rows..., n].
struct NormBuilder : LoopBuilder {
  NormBuilder(OpBuilder &builder, Operation *op, kvern::TensorType type)
      : LoopBuilder(builder, op), type(type.getElementType()),
        shape(type.getShape()), rows(shape.drop_back()), axis(rows.size()),
        compute(getComputeType(this->type)) {
    ImplicitLocOpBuilder b(location, builder);
    Value size = arith::IndexCastOp::create(b, b.getI64Type(),
                                            index(this->size(shape.back())));
    count = castScalar(b, size, b.getI64Type(), compute);
  }

  /// The sum of what `body` makes of the elements of a row.
  Value sum(ArrayRef<LoopOperand> operands, Body body) {
    return reduce(shape, axis, cast<TypedAttr>(builder.getZeroAttr(compute)),
                  operands, [&](ImplicitLocOpBuilder &b, ValueRange values) {
                    Value element = body(b, values.drop_back());
                    return Scalar(b, type).accumulate(element, values.back());
                  });
  }

  /// total / n for each row.
  Value mean(Value total) {
    return elementwise(rows, compute, all(total, axis),
                       [&](ImplicitLocOpBuilder &b, ValueRange values) {
                         return Scalar(b, type).div(values[0], count);
                       });
  }

  /// 1 / sqrt(total / n + epsilon) for each row.
  Value scale(Value total, const APFloat &epsilon) {
    return elementwise(
        rows, compute, all(total, axis),
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, type);
          Value mean = s.div(values[0], count);
          Value shifted = s.add(mean, s.constant(epsilon.convertToDouble()));
          return s.div(s.constant(1.0), math::SqrtOp::create(b, shifted));
        });
  }

  LoopOperand ofRow(Value value) { return without(value, axis + 1, axis); }
  LoopOperand ofColumn(Value value) {
    return {value, AffineMap::get(axis + 1, 0, builder.getAffineDimExpr(axis))};
  }

  const Type type;
  const ArrayRef<DimAttr> shape;
  const ArrayRef<DimAttr> rows;
  const int64_t axis;
  const Type compute;
  Value count;
};

/// s = 1 / sqrt(mean of x^2 + epsilon); then x * s * (weight + offset), with
/// the rounding to the element type before or after the second product.
struct RmsNormConversion : OpConversionPattern<RmsNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RmsNormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm(rewriter, op, cast<kvern::TensorType>(op.getType()));
    LoopOperand x = norm.all(adaptor.getX(), norm.axis + 1);
    Value squares =
        norm.sum(x, [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, norm.type);
          Value element = s.load(values[0]);
          return s.mul(element, element);
        });
    Value scale = norm.scale(squares, op.getEpsilon());
    bool roundsFirst = !op.getMultiplyBeforeCast();
    double offset = op.getWeightOffset().convertToDouble();
    Value result = norm.elementwise(
        norm.shape, getStorageType(norm.type),
        {x, norm.ofRow(scale), norm.ofColumn(adaptor.getWeight())},
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, norm.type);
          auto round = [&](Value value) {
            return roundsFirst ? s.load(s.store(value)) : value;
          };
          Value factor = s.load(values[2]);
          if (offset != 0.0) {
            factor = round(s.add(factor, s.constant(offset)));
          }
          Value normalized = round(s.mul(s.load(values[0]), values[1]));
          return s.store(s.mul(normalized, factor));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// 1. m = mean of x.
/// 2. s = 1 / sqrt(mean of (x - m)^2 + epsilon).
/// 3. (x - m) * s * gamma + beta.
struct LayerNormConversion : OpConversionPattern<LayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LayerNormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm(rewriter, op, cast<kvern::TensorType>(op.getType()));
    LoopOperand x = norm.all(adaptor.getX(), norm.axis + 1);
    Value total = norm.sum(x, [&](ImplicitLocOpBuilder &b, ValueRange values) {
      return Scalar(b, norm.type).load(values[0]);
    });
    LoopOperand mean = norm.ofRow(norm.mean(total));
    Value squares =
        norm.sum({x, mean}, [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, norm.type);
          Value centered = s.sub(s.load(values[0]), values[1]);
          return s.mul(centered, centered);
        });
    Value scale = norm.scale(squares, op.getEpsilon());
    SmallVector<LoopOperand> operands{x, mean, norm.ofRow(scale),
                                      norm.ofColumn(adaptor.getGamma())};
    if (Value beta = adaptor.getBeta()) {
      operands.push_back(norm.ofColumn(beta));
    }
    Value result = norm.elementwise(
        norm.shape, getStorageType(norm.type), operands,
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, norm.type);
          Value centered = s.sub(s.load(values[0]), values[1]);
          Value result = s.mul(s.mul(centered, values[2]), s.load(values[3]));
          if (values.size() > 4) {
            result = s.add(result, s.load(values[4]));
          }
          return s.store(result);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateNormPatterns(TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<RmsNormConversion, LayerNormConversion>(converter,
                                                       patterns.getContext());
}
