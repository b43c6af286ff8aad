//===- Cast.cpp - Change of element type ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Scalar.h"

#include <cmath>

using namespace mlir;
using namespace kvern;

namespace {

bool isHalf(Type type) { return isa<Float16Type, BFloat16Type>(type); }

/// f64 to f32 such that rounding the result again, to f16 or bf16, is as if it
/// were rounded once: an inexact result gets an odd last bit (round to odd;
/// Boldo and Melquiond, 2008).
///
/// 1. y = x rounded to nearest.
/// 2. When y is not x and its last bit is even, its neighbour on the side of x
///    has an odd one: one up in magnitude when |y| < |x|, else one down.
Value truncateToOdd(ImplicitLocOpBuilder &b, Value x) {
  Type i32 = b.getI32Type();
  Scalar wide(b, b.getF64Type());
  Scalar bits(b, i32);
  Value y = arith::TruncFOp::create(b, b.getF32Type(), x);
  Value back = arith::ExtFOp::create(b, b.getF64Type(), y);
  Value pattern = arith::BitcastOp::create(b, i32, y);
  Value last = arith::AndIOp::create(b, pattern, bits.integer(1));
  Value isEven = bits.equal(last, bits.integer(0));
  // Neither holds for NaN.
  Value isBelow = wide.greater(wide.abs(x), wide.abs(back));
  Value isAbove = wide.greater(wide.abs(back), wide.abs(x));
  Value step = arith::SelectOp::create(
      b, isBelow, bits.integer(1),
      arith::SelectOp::create(b, isAbove, bits.integer(-1), bits.integer(0)));
  step = arith::SelectOp::create(b, isEven, step, bits.integer(0));
  return arith::BitcastOp::create(b, b.getF32Type(), bits.add(pattern, step));
}

Value castFloat(ImplicitLocOpBuilder &b, Value x, Type to) {
  Type from = x.getType();
  if (isHalf(to)) {
    if (from.isF64()) {
      x = truncateToOdd(b, x);
    } else if (isHalf(from)) {
      x = arith::ExtFOp::create(b, b.getF32Type(), x);
    }
    return arith::TruncFOp::create(b, to, x);
  }
  if (isHalf(from)) {
    x = arith::ExtFOp::create(b, b.getF32Type(), x);
  }
  if (x.getType() == to) {
    return x;
  }
  return to.isF64() ? arith::ExtFOp::create(b, to, x).getResult()
                    : arith::TruncFOp::create(b, to, x).getResult();
}

/// Keeps a 64-bit integer exact in f64 as far as a rounding to f16 or bf16 can
/// tell: the bits that do not fit become one sticky bit.
Value makeSticky(Scalar &s, Value x) {
  int64_t dropped = s.isUnsigned() ? 12 : 11;
  int64_t mask = (int64_t(1) << dropped) - 1;
  Value low = arith::AndIOp::create(s.b, x, s.integer(mask));
  Value sticky =
      arith::SelectOp::create(s.b, s.equal(low, s.integer(0)), s.integer(0),
                              s.integer(int64_t(1) << (dropped - 1)));
  Value high = arith::AndIOp::create(s.b, x, s.integer(~mask));
  Value rounded = arith::OrIOp::create(s.b, high, sticky);
  // Below 2^53 nothing has to be dropped.
  Value isSmall = s.greater(s.integer(int64_t(1) << 53), s.abs(x));
  return arith::SelectOp::create(s.b, isSmall, x, rounded);
}

Value castIntToFloat(Scalar &s, Value x, Type to) {
  unsigned width = s.type.getIntOrFloatBitWidth();
  Type via = to;
  if (isHalf(to)) {
    via = width <= 16 ? s.b.getF32Type() : s.b.getF64Type();
    if (width == 64) {
      x = makeSticky(s, x);
    }
  }
  bool isUnsigned = s.isUnsigned() || s.isBool();
  Value result = isUnsigned ? arith::UIToFPOp::create(s.b, via, x).getResult()
                            : arith::SIToFPOp::create(s.b, via, x).getResult();
  return via == to ? result : castFloat(s.b, result, to);
}

/// Towards zero. Only what is in range is converted, the rest is selected.
Value castFloatToInt(Scalar &s, Value x, Type to) {
  Scalar target(s.b, to);
  bool isUnsigned = target.isUnsigned();
  unsigned width = target.type.getIntOrFloatBitWidth();
  Value low = s.constant(isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1));
  Value end = s.constant(std::ldexp(1.0, isUnsigned ? width : width - 1));
  Value isHigh = s.greaterEqual(x, end);
  Value isLow = s.greater(low, x);
  Value isInside =
      arith::AndIOp::create(s.b, s.greaterEqual(x, low), s.greater(end, x));
  Value safe = arith::SelectOp::create(s.b, isInside, x, s.constant(0.0));
  Value result =
      isUnsigned ? arith::FPToUIOp::create(s.b, target.type, safe).getResult()
                 : arith::FPToSIOp::create(s.b, target.type, safe).getResult();
  Value highest = arith::ConstantOp::create(s.b, target.highest());
  Value lowest = arith::ConstantOp::create(s.b, target.lowest());
  result = arith::SelectOp::create(s.b, isHigh, highest, result);
  return arith::SelectOp::create(s.b, isLow, lowest, result);
}

Value castInt(Scalar &s, Value x, Type to) {
  unsigned from = s.type.getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (from == width) {
    return x;
  }
  if (from > width) {
    return arith::TruncIOp::create(s.b, to, x);
  }
  return s.isUnsigned() || s.isBool()
             ? arith::ExtUIOp::create(s.b, to, x).getResult()
             : arith::ExtSIOp::create(s.b, to, x).getResult();
}

} // namespace

Value kvern::castScalar(ImplicitLocOpBuilder &builder, Value x, Type from,
                        Type to) {
  if (from == to) {
    return x;
  }
  Scalar source(builder, from);
  if (to.isInteger(1)) {
    Value isTrue = source.notEqual(source.load(x), source.integer(0));
    return Scalar(builder, to).store(isTrue);
  }
  if (isa<FloatType>(from)) {
    return isa<FloatType>(to) ? castFloat(builder, x, to)
                              : castFloatToInt(source, source.load(x), to);
  }
  x = source.load(x);
  return isa<FloatType>(to) ? castIntToFloat(source, x, to)
                            : castInt(source, x, getStorageType(to));
}
