//===- Division.cpp - Quotients and remainders ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Scalar.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kvern;

namespace {

/// The quotient and remainder of a division towards zero. The divisor is
/// replaced where it has none: 0 gives 0, and -1 would overflow.
struct Division {
  Value quotient;
  Value remainder;
  Value isZero;
};

Division divideSigned(Scalar &s, Value x, Value y) {
  Value zero = s.integer(0);
  Value one = s.integer(1);
  Value isZero = s.equal(y, zero);
  Value isMinusOne = s.equal(y, s.integer(-1));
  Value isSpecial = arith::OrIOp::create(s.b, isZero, isMinusOne);
  Value divisor = arith::SelectOp::create(s.b, isSpecial, one, y);
  Value quotient = arith::DivSIOp::create(s.b, x, divisor);
  Value remainder = arith::RemSIOp::create(s.b, x, divisor);
  quotient = arith::SelectOp::create(s.b, isMinusOne, s.sub(zero, x), quotient);
  return {quotient, remainder, isZero};
}

Division divideUnsigned(Scalar &s, Value x, Value y) {
  Value isZero = s.equal(y, s.integer(0));
  Value divisor = arith::SelectOp::create(s.b, isZero, s.integer(1), y);
  return {arith::DivUIOp::create(s.b, x, divisor),
          arith::RemUIOp::create(s.b, x, divisor), isZero};
}

/// Whether a remainder has another sign than the divisor.
Value isOnOtherSide(Scalar &s, Value remainder, Value y) {
  Value zero = s.integer(0);
  Value differs = s.notEqual(remainder, zero);
  Value signs = arith::XOrIOp::create(s.b, s.greater(zero, remainder),
                                      s.greater(zero, y));
  return arith::AndIOp::create(s.b, differs, signs);
}

} // namespace

Value Scalar::div(Value x, Value y) {
  if (isFloat()) {
    return arith::DivFOp::create(b, x, y);
  }
  Division d =
      isUnsigned() ? divideUnsigned(*this, x, y) : divideSigned(*this, x, y);
  return arith::SelectOp::create(b, d.isZero, integer(0), d.quotient);
}

Value Scalar::floorDiv(Value x, Value y) {
  if (isFloat()) {
    return math::FloorOp::create(b, arith::DivFOp::create(b, x, y));
  }
  if (isUnsigned()) {
    return div(x, y);
  }
  Division d = divideSigned(*this, x, y);
  Value below = sub(d.quotient, integer(1));
  Value quotient = arith::SelectOp::create(
      b, isOnOtherSide(*this, d.remainder, y), below, d.quotient);
  return arith::SelectOp::create(b, d.isZero, integer(0), quotient);
}

Value Scalar::mod(Value x, Value y) {
  if (isFloat()) {
    // Exact; a zero takes the sign of y.
    Value remainder = arith::RemFOp::create(b, x, y);
    Value moved = arith::SelectOp::create(b, isOnOtherSide(*this, remainder, y),
                                          add(remainder, y), remainder);
    Value isZero = equal(moved, constant(0.0));
    Value zero = math::CopySignOp::create(b, constant(0.0), y);
    return arith::SelectOp::create(b, isZero, zero, moved);
  }
  Division d =
      isUnsigned() ? divideUnsigned(*this, x, y) : divideSigned(*this, x, y);
  Value remainder = d.remainder;
  if (!isUnsigned()) {
    remainder = arith::SelectOp::create(b, isOnOtherSide(*this, remainder, y),
                                        add(remainder, y), remainder);
  }
  return arith::SelectOp::create(b, d.isZero, integer(0), remainder);
}
