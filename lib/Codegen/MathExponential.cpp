// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp, expm1, tanh, erf and pow of f32.
//
// The reduction of exp is that of S. L. Moshier, Cephes Mathematical Library,
// single precision (expf.c). The coefficients are minimax fits, by reweighted
// least squares, of the functions named beside them.
#include "lib/Codegen/Lanes.h"
#include "lib/Codegen/MathApproximations.h"

using namespace mlir;
using namespace kvern;

/// x = n * ln 2 + r, n the integer nearest to x / ln 2; ln 2 in two parts.
/// exp(r) = 1 + r + r^2 * curve(r).
ExpParts kvern::emitExpParts(Lanes &b, Value x) {
  Value shifted = b.fma(x, b.f32(1.44269504088896341f), b.f32(kRoundF32));
  Value n = b.sub(shifted, b.f32(kRoundF32));
  Value r = b.fma(n, b.f32(-0.693359375f), x);
  r = b.fma(n, b.f32(2.12194440e-4f), r);
  Value curve = b.polynomial(r, {0x1.6a2254p-10, 0x1.123b04p-7, 0x1.5558f8p-5,
                                 0x1.55549p-3, 0x1.fffffcp-2});
  return {shifted, r, curve};
}

/// 2^n for the integer in the low bits of `bits`, -127 < n < 128: what is above
/// them is shifted out.
static Value powerOfTwo(Lanes &b, Value bits) {
  return b.fromBits(b.addI(b.shiftLeft(bits, b.i32(23)), b.i32(0x3F800000)));
}

static bool isFast(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAny(flags, arith::FastMathFlags::afn);
}

/// The fast form is 0 below 2^-126.5, and infinite from 2^127.5.
static Value emitExp(Lanes &b, math::ExpOp op) {
  bool fast = isFast(op.getFastmath());
  // Beyond, the result is infinite or zero.
  Value x = b.atLeast(op.getOperand(), fast ? -88.0 : -104.0);
  ExpParts parts = emitExpParts(b, b.atMost(x, 89.0));
  Value one = b.f32(1.0f);
  Value p = b.fma(b.fma(parts.curve, parts.r, one), parts.r, one);
  Value n = b.bits(parts.shifted);
  if (fast) {
    return b.mul(p, powerOfTwo(b, n));
  }
  // In two steps: 2^n alone overflows or is denormal at the ends.
  Value half = b.shiftRight(n, b.i32(1));
  return b.mul(b.mul(p, powerOfTwo(b, half)), powerOfTwo(b, b.subI(n, half)));
}

/// With h = 2^(n - 1): 2 * ((exp(r) - 1) * h + (h - 1/2)).
static Value emitExpM1(Lanes &b, math::ExpM1Op op) {
  Value x = op.getOperand();
  ExpParts parts = emitExpParts(b, b.atMost(b.atLeast(x, -18.0), 89.0));
  Value h = powerOfTwo(b, b.subI(b.bits(parts.shifted), b.i32(1)));
  Value reduced = b.fma(parts.curve, b.mul(parts.r, parts.r), parts.r);
  Value result = b.fma(reduced, h, b.sub(h, b.f32(0.5f)));
  // The sign of -0.
  return b.copySign(b.add(result, result), x);
}

/// 2^y = 2^n * (1 + r * p(r)), r = y - n, for -126 < y < 127: p(r) is
/// (2^r - 1) / r. `shifted` is n + 2^23 * 1.5.
static Value emitExp2(Lanes &b, Value r, Value shifted) {
  Value p = b.polynomial(r, {0x1.448f26p-13, 0x1.5f47b6p-10, 0x1.3b29aap-7,
                             0x1.c6aedp-5, 0x1.ebfbep-3, 0x1.62e43p-1});
  p = b.fma(p, r, b.f32(1.0f));
  return b.fromBits(b.addI(b.bits(p), b.shiftLeft(b.bits(shifted), b.i32(23))));
}

/// P(x^2) / Q(x^2) * x, with |x| at most `limit`, where it is 1.
static Value emitRational(Lanes &b, Value x, double limit,
                          ArrayRef<double> numerator,
                          ArrayRef<double> denominator) {
  x = b.atMost(b.atLeast(x, -limit), limit);
  Value square = b.mul(x, x);
  return b.div(b.mul(x, b.polynomial(square, numerator)),
               b.polynomial(square, denominator));
}

/// |x| < 0.625: x + x^3 * p(x^2). Else: 1 - 2 / (exp(2 |x|) + 1).
static Value emitTanh(Lanes &b, math::TanhOp op) {
  Value x = op.getOperand();
  if (isFast(op.getFastmath())) {
    return emitRational(
        b, x, 8.6,
        {0x1.e3e5ccp-27, 0x1.6262b8p-16, 0x1.ce37d2p-9, 0x1.1292d4p-3, 1.0},
        {0x1.b14ec8p-21, 0x1.5dd71ep-12, 0x1.a9e302p-6, 0x1.de9eb8p-2, 1.0});
  }
  Value square = b.mul(x, x);
  Value small =
      b.polynomial(square, {-0x1.768474p-8, 0x1.524e6p-6, -0x1.b8430ep-5,
                            0x1.11076p-3, -0x1.555534p-2});
  small = b.fma(b.mul(small, square), x, x);

  Value magnitude = b.atMost(b.abs(x), 10.0);
  // 2 / ln 2
  Value scale = b.f32(2.88539008177792681f);
  Value shifted = b.fma(magnitude, scale, b.f32(kRoundF32));
  Value n = b.sub(b.f32(kRoundF32), shifted);
  Value exp = emitExp2(b, b.fma(magnitude, scale, n), shifted);
  Value one = b.f32(1.0f);
  Value large = b.sub(one, b.div(b.f32(2.0f), b.add(exp, one)));
  return b.select(b.lessEqual(b.f32(0.625f), magnitude), b.copySign(large, x),
                  small);
}

/// |x| < 0.9: x + x * p(x^2). Else: 1 - 2^q(|x|), q = log2(erfc).
static Value emitErf(Lanes &b, math::ErfOp op) {
  Value x = op.getOperand();
  if (isFast(op.getFastmath())) {
    return emitRational(b, x, 3.78,
                        {0x1.df75d8p-13, 0x1.b20e6ep-9, 0x1.9ef82cp-5,
                         0x1.760b78p-3, 0x1.20dd74p+0},
                        {-0x1.051da6p-23, 0x1.8f9606p-16, 0x1.05c00ap-10,
                         0x1.c68c74p-7, 0x1.c264d4p-4, 0x1.fb13b8p-2, 1.0});
  }
  Value square = b.mul(x, x);
  Value small =
      b.polynomial(square, {-0x1.3f3408p-11, 0x1.487078p-8, -0x1.b6bdep-6,
                            0x1.ce1dc2p-4, -0x1.8126f8p-2, 0x1.06eba6p-3});
  small = b.fma(small, x, x);

  Value magnitude = b.atMost(b.abs(x), 4.0);
  Value y =
      b.polynomial(magnitude, {-0x1.fa1a38p-16, 0x1.46fd04p-11, -0x1.895f0ap-8,
                               0x1.288b96p-5, -0x1.3fccd8p-3, -0x1.d3db78p-1,
                               -0x1.a12808p+0, 0x1.02019p-12});
  Value shifted = b.add(y, b.f32(kRoundF32));
  Value n = b.sub(shifted, b.f32(kRoundF32));
  Value large = b.sub(b.f32(1.0f), emitExp2(b, b.sub(y, n), shifted));
  return b.select(b.lessEqual(b.f32(0.9f), magnitude), b.copySign(large, x),
                  small);
}

/// log2(|x|) in f64. |x| = 2^e * m, sqrt(1/2) <= m < sqrt(2);
/// log2(m) = s * p(s^2), s = (m - 1) / (m + 1).
static Value emitWideLog2(Lanes &b, Value magnitude) {
  Value bits = b.bits(magnitude);
  // Subtracting sqrt(1/2) rounds the exponent as wanted.
  Value e = b.shiftRight(b.subI(bits, b.i64(0x3FE6A09E667F3BCD)), b.i64(52));
  Value m = b.fromBits(b.subI(bits, b.shiftLeft(e, b.i64(52))));
  Value s = b.div(b.sub(m, b.f64(1.0)), b.add(m, b.f64(1.0)));
  Value p =
      b.polynomial(b.mul(s, s), {0x1.21b4b9e1c745ep-2, 0x1.479510e40e48ap-2,
                                 0x1.a61a308341c59p-2, 0x1.2776c291026fep-1,
                                 0x1.ec709dc53e5b4p-1, 0x1.71547652b8251p+1});
  // The integer e as a float, by its bits below 1.5 * 2^52.
  Value round = b.f64(kRoundF64);
  Value exponent = b.sub(b.fromBits(b.addI(e, b.bits(round))), round);
  Value result = b.fma(s, p, exponent);
  result = b.select(b.equal(magnitude, b.f64(0.0)), b.f64(-kInfinity), result);
  return b.select(b.less(magnitude, b.f64(kInfinity)), result, magnitude);
}

/// |x|^y = 2^(y * log2 |x|), in f64; then the sign, and what has no power.
static Value emitPow(Lanes &b, math::PowFOp op) {
  Value x = op.getLhs(), y = op.getRhs();
  Value zero = b.f32(0.0f), one = b.f32(1.0f);
  Value log = emitWideLog2(b, b.widen(b.abs(x)));
  // 1 to any power is 1.
  Value t =
      b.select(b.equal(log, b.f64(0.0)), b.f64(0.0), b.mul(log, b.widen(y)));
  t = b.atMost(b.atLeast(t, -200.0), 200.0);
  Value shifted = b.add(t, b.f64(kRoundF64));
  Value r = b.sub(t, b.sub(shifted, b.f64(kRoundF64)));
  Value p = b.polynomial(r, {0x1.fe177d368777ep-17, 0x1.446a1fcf6c941p-13,
                             0x1.5d8a708de8dd2p-10, 0x1.3b29dc40e62dp-7,
                             0x1.c6b08aaf297cfp-5, 0x1.ebfbe0a4be68p-3,
                             0x1.62e42ff1162b3p-1, 1.0});
  Value scale = b.fromBits(
      b.addI(b.shiftLeft(b.bits(shifted), b.i64(52)), b.i64(1023LL << 52)));
  Value power = b.narrow(b.mul(p, scale));

  Value isWhole = b.equal(b.trunc(y), y);
  Value half = b.mul(y, b.f32(0.5f));
  Value isEven = b.equal(b.trunc(half), half);
  Value flipped = b.copySign(power, x);
  Value isOdd = arith::AndIOp::create(
      b, isWhole,
      arith::XOrIOp::create(b, isEven, b.constant(b.getBoolAttr(true))));
  Value result = b.select(isOdd, flipped, power);
  // A negative number to a broken power; zero and infinity have no sign then.
  Value isNegative =
      arith::AndIOp::create(b, b.less(x, zero), b.less(b.f32(-kInfinity), x));
  Value isUndefined = arith::AndIOp::create(
      b, isNegative,
      arith::XOrIOp::create(b, isWhole, b.constant(b.getBoolAttr(true))));
  result = b.select(isUndefined, b.f32(kNaN), result);
  // NaN: but not for x = 1 and y = 0.
  result = b.select(b.equal(y, y), result, b.add(x, y));
  result = b.select(b.equal(x, one), one, result);
  return b.select(b.equal(y, zero), one, result);
}

void kvern::populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximation<math::ExpOp, emitExp>,
               Approximation<math::ExpM1Op, emitExpM1>,
               Approximation<math::TanhOp, emitTanh>,
               Approximation<math::ErfOp, emitErf>,
               Approximation<math::PowFOp, emitPow>>(patterns.getContext());
}
