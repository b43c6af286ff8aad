//===- Scalar.cpp - Arithmetic on one element -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Scalar.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvern;

Type kvern::getComputeType(Type elementType) {
  if (isa<Float16Type, BFloat16Type>(elementType)) {
    return Float32Type::get(elementType.getContext());
  }
  return elementType.isInteger(1) ? elementType : getStorageType(elementType);
}

Scalar::Scalar(ImplicitLocOpBuilder &builder, Type elementType)
    : b(builder), elementType(elementType), type(getComputeType(elementType)) {}

Value Scalar::load(Value x) {
  if (x.getType() == type) {
    return x;
  }
  if (isBool()) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero);
  }
  return b.createOrFold<arith::ExtFOp>(type, x);
}

Value Scalar::store(Value x) {
  Type storage = getStorageType(elementType);
  if (x.getType() == storage) {
    return x;
  }
  return isBool() ? b.createOrFold<arith::ExtUIOp>(storage, x)
                  : b.createOrFold<arith::TruncFOp>(storage, x);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Scalar::constant(double value) {
  if (isFloat()) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  return integer(static_cast<int64_t>(value));
}

Value Scalar::integer(int64_t value) {
  if (isFloat()) {
    return constant(static_cast<double>(value));
  }
  APInt bits(type.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
             /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, bits));
}

Value Scalar::infinity(bool negative) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  return arith::ConstantOp::create(
      b, b.getFloatAttr(type, APFloat::getInf(semantics, negative)));
}

TypedAttr Scalar::lowest() {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    return b.getFloatAttr(type, APFloat::getInf(floatType.getFloatSemantics(),
                                                /*Negative=*/true));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  return b.getIntegerAttr(type, isUnsigned() ? APInt::getZero(width)
                                             : APInt::getSignedMinValue(width));
}

TypedAttr Scalar::highest() {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    return b.getFloatAttr(type, APFloat::getInf(floatType.getFloatSemantics()));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  return b.getIntegerAttr(type, isUnsigned() ? APInt::getMaxValue(width)
                                             : APInt::getSignedMaxValue(width));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Scalar::add(Value x, Value y) {
  return isFloat() ? arith::AddFOp::create(b, x, y).getResult()
                   : arith::AddIOp::create(b, x, y).getResult();
}

Value Scalar::sub(Value x, Value y) {
  return isFloat() ? arith::SubFOp::create(b, x, y).getResult()
                   : arith::SubIOp::create(b, x, y).getResult();
}

Value Scalar::mul(Value x, Value y) {
  return isFloat() ? arith::MulFOp::create(b, x, y).getResult()
                   : arith::MulIOp::create(b, x, y).getResult();
}

Value Scalar::accumulate(Value x, Value sum) {
  return isFloat() ? arith::AddFOp::create(b, x, sum,
                                           arith::FastMathFlags::reassoc |
                                               arith::FastMathFlags::contract)
                         .getResult()
                   : arith::AddIOp::create(b, x, sum).getResult();
}

Value Scalar::accumulateProduct(Value x, Value product) {
  return isFloat() ? arith::MulFOp::create(b, x, product,
                                           arith::FastMathFlags::reassoc |
                                               arith::FastMathFlags::contract)
                         .getResult()
                   : arith::MulIOp::create(b, x, product).getResult();
}

Value Scalar::max(Value x, Value y) {
  if (isFloat()) {
    return arith::MaximumFOp::create(b, x, y);
  }
  return isUnsigned() ? arith::MaxUIOp::create(b, x, y).getResult()
                      : arith::MaxSIOp::create(b, x, y).getResult();
}

Value Scalar::min(Value x, Value y) {
  if (isFloat()) {
    return arith::MinimumFOp::create(b, x, y);
  }
  return isUnsigned() ? arith::MinUIOp::create(b, x, y).getResult()
                      : arith::MinSIOp::create(b, x, y).getResult();
}

Value Scalar::neg(Value x) {
  return isFloat() ? arith::NegFOp::create(b, x).getResult()
                   : sub(integer(0), x);
}

Value Scalar::abs(Value x) {
  if (isFloat()) {
    return math::AbsFOp::create(b, x);
  }
  return isUnsigned() ? x : max(x, neg(x));
}

Value Scalar::sigmoid(Value x) {
  Value one = constant(1.0);
  return div(one, add(one, math::ExpOp::create(b, neg(x))));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Powers with a small whole exponent known now are products; null otherwise.
Value Scalar::powByConstant(Value x, Value y) {
  if (isFloat()) {
    FloatAttr exponent;
    if (!matchPattern(y, m_Constant(&exponent))) {
      return {};
    }
    double value = exponent.getValueAsDouble();
    if (value == 1.0) {
      return x;
    }
    if (value == 2.0) {
      return mul(x, x);
    }
    if (value == 3.0) {
      return mul(mul(x, x), x);
    }
    return value == -1.0 ? div(constant(1.0), x) : Value();
  }
  APInt exponent;
  if (!matchPattern(y, m_ConstantInt(&exponent)) ||
      (!isUnsigned() && exponent.isNegative())) {
    return {};
  }
  Value result = integer(1);
  Value base = x;
  for (unsigned bit = 0, end = exponent.getActiveBits(); bit < end; ++bit) {
    if (exponent[bit]) {
      result = b.createOrFold<arith::MulIOp>(result, base);
    }
    if (bit + 1 < end) {
      base = mul(base, base);
    }
  }
  return result;
}

/// 1. result = product of x^(2^i) over the bits i that are set in y.
/// 2. y < 0: x^y = 1 / x^-y towards zero, which is not 0 for 1 and -1 only.
/// Without branches, so that it can be vectorized.
Value Scalar::integerPow(Value x, Value y) {
  Value zero = integer(0);
  Value one = integer(1);
  unsigned width = type.getIntOrFloatBitWidth();
  Value result = one;
  Value base = x;
  for (unsigned bit = 0; bit < width - (isUnsigned() ? 0 : 1); ++bit) {
    Value mask = integer(static_cast<int64_t>(uint64_t(1) << bit));
    Value isSet = notEqual(arith::AndIOp::create(b, y, mask), zero);
    result = mul(result, arith::SelectOp::create(b, isSet, base, one));
    base = mul(base, base);
  }
  if (isUnsigned()) {
    return result;
  }
  Value isOdd = notEqual(arith::AndIOp::create(b, y, one), zero);
  Value sign = arith::SelectOp::create(b, isOdd, x, one);
  Value isUnit = arith::OrIOp::create(b, equal(x, one), equal(x, integer(-1)));
  Value inverse = arith::SelectOp::create(b, isUnit, sign, zero);
  return arith::SelectOp::create(b, greater(zero, y), inverse, result);
}

Value Scalar::pow(Value x, Value y) {
  if (Value product = powByConstant(x, y)) {
    return product;
  }
  return isFloat() ? math::PowFOp::create(b, x, y).getResult()
                   : integerPow(x, y);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Value Scalar::equal(Value x, Value y) {
  return isFloat() ? arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y)
                         .getResult()
                   : arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y)
                         .getResult();
}

Value Scalar::notEqual(Value x, Value y) {
  return isFloat() ? arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x, y)
                         .getResult()
                   : arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, y)
                         .getResult();
}

Value Scalar::greater(Value x, Value y) {
  if (isFloat()) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
  }
  return arith::CmpIOp::create(
      b, isUnsigned() ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt,
      x, y);
}

Value Scalar::greaterEqual(Value x, Value y) {
  if (isFloat()) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, y);
  }
  return arith::CmpIOp::create(
      b, isUnsigned() ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge,
      x, y);
}
