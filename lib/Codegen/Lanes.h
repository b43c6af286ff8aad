// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds arithmetic on scalars or vectors alike.
#ifndef KVERN_LIB_CODEGEN_LANES_H
#define KVERN_LIB_CODEGEN_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>

namespace kvern {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
/// 1.5 * 2^23 and 1.5 * 2^52: a sum with it is rounded to an integer, which is
/// then in the low bits.
inline constexpr float kRoundF32 = 0x1.8p23f;
inline constexpr double kRoundF64 = 0x1.8p52;

/// Arithmetic on values of one shape: scalars, or vectors of equal length.
class Lanes : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;

  Lanes(mlir::Operation *op, mlir::PatternRewriter &rewriter)
      : ImplicitLocOpBuilder(op->getLoc(), rewriter),
        shape(op->getResult(0).getType()) {}

  mlir::Type as(mlir::Type element) {
    auto shaped = mlir::dyn_cast<mlir::ShapedType>(shape);
    return shaped ? shaped.clone(element) : element;
  }
  Value constant(mlir::TypedAttr scalar) {
    mlir::Type type = as(scalar.getType());
    mlir::TypedAttr value = scalar;
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type)) {
      value = mlir::DenseElementsAttr::get(shaped, scalar);
    }
    return mlir::arith::ConstantOp::create(*this, value);
  }
  Value f32(float value) { return constant(getF32FloatAttr(value)); }
  Value f64(double value) { return constant(getF64FloatAttr(value)); }
  Value i32(int32_t value) { return constant(getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return constant(getI64IntegerAttr(value)); }
  /// A number of the type of `like`.
  Value number(double value, Value like) {
    return isWide(like) ? f64(value) : f32(static_cast<float>(value));
  }

  Value add(Value a, Value b) {
    return mlir::arith::AddFOp::create(*this, a, b);
  }
  Value sub(Value a, Value b) {
    return mlir::arith::SubFOp::create(*this, a, b);
  }
  Value mul(Value a, Value b) {
    return mlir::arith::MulFOp::create(*this, a, b);
  }
  Value div(Value a, Value b) {
    return mlir::arith::DivFOp::create(*this, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return mlir::math::FmaOp::create(*this, a, b, c);
  }
  Value abs(Value a) { return mlir::math::AbsFOp::create(*this, a); }
  Value trunc(Value a) { return mlir::math::TruncOp::create(*this, a); }
  Value copySign(Value magnitude, Value sign) {
    return mlir::math::CopySignOp::create(*this, magnitude, sign);
  }
  Value widen(Value a) {
    return mlir::arith::ExtFOp::create(*this, as(getF64Type()), a);
  }
  Value narrow(Value a) {
    return mlir::arith::TruncFOp::create(*this, as(getF32Type()), a);
  }
  Value addI(Value a, Value b) {
    return mlir::arith::AddIOp::create(*this, a, b);
  }
  Value subI(Value a, Value b) {
    return mlir::arith::SubIOp::create(*this, a, b);
  }
  Value andI(Value a, Value b) {
    return mlir::arith::AndIOp::create(*this, a, b);
  }
  Value shiftLeft(Value a, Value b) {
    return mlir::arith::ShLIOp::create(*this, a, b);
  }
  Value shiftRight(Value a, Value b) {
    return mlir::arith::ShRSIOp::create(*this, a, b);
  }
  Value bits(Value value) {
    return mlir::arith::BitcastOp::create(
        *this, as(isWide(value) ? getI64Type() : getI32Type()), value);
  }
  Value fromBits(Value value) {
    bool wide = mlir::getElementTypeOrSelf(value.getType()).isInteger(64);
    return mlir::arith::BitcastOp::create(
        *this, as(wide ? mlir::Type(getF64Type()) : getF32Type()), value);
  }
  /// False for NaN.
  Value less(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLT,
                                       a, b);
  }
  Value lessEqual(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLE,
                                       a, b);
  }
  Value equal(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OEQ,
                                       a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }
  /// At most, and at least, `limit`; NaN stays.
  Value atMost(Value a, double limit) {
    Value bound = number(limit, a);
    return select(less(bound, a), bound, a);
  }
  Value atLeast(Value a, double limit) {
    Value bound = number(limit, a);
    return select(less(a, bound), bound, a);
  }
  /// The polynomial in x with these coefficients, the highest power first.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value result = number(coefficients.front(), x);
    for (double coefficient : coefficients.drop_front()) {
      result = fma(result, x, number(coefficient, x));
    }
    return result;
  }

private:
  static bool isWide(Value value) {
    return mlir::getElementTypeOrSelf(value.getType()).isF64();
  }

  mlir::Type shape;
};

/// Replaces a function of f32 by what `emit` makes of its operands.
template <typename OpT, mlir::Value (*emit)(Lanes &, OpT)>
struct Approximation : mlir::OpRewritePattern<OpT> {
  using mlir::OpRewritePattern<OpT>::OpRewritePattern;

  mlir::LogicalResult
  matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const override {
    if (!mlir::getElementTypeOrSelf(op.getType()).isF32()) {
      return rewriter.notifyMatchFailure(op, "not f32");
    }
    Lanes lanes(op, rewriter);
    rewriter.replaceOp(op, emit(lanes, op));
    return mlir::success();
  }
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LANES_H
