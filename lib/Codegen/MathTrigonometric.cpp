// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sin and cos of f32.
//
// Coefficients are those of S. L. Moshier, Cephes Mathematical Library, single
// precision (sinf.c).
#include "lib/Codegen/Lanes.h"
#include "lib/Codegen/MathApproximations.h"

using namespace mlir;
using namespace kvern;

/// sin(x) for quarterTurns = 0, cos(x) for 1: x = n * pi / 2 + r, |r| <= pi
/// / 4. The reduction is in f64, where n * pi / 2 in two parts is exact enough
/// up to 2^50. Beyond, where numbers of f32 are 2^27 apart, the angle counts as
/// 0.
static Value emitSine(Lanes &b, Value x, int64_t quarterTurns) {
  Value magnitude = b.abs(x);
  // Infinities and NaN become NaN.
  x = b.select(b.less(magnitude, b.f32(0x1p50f)), x, b.mul(x, b.f32(0.0f)));
  Value wide = b.widen(x);
  Value shifted = b.fma(wide, b.f64(0.63661977236758134308), b.f64(kRoundF64));
  Value n = b.sub(shifted, b.f64(kRoundF64));
  Value reduced = b.fma(n, b.f64(-0x1.921fb54442d18p0), wide);
  reduced = b.fma(n, b.f64(-0x1.1a62633145c07p-54), reduced);
  Value r = b.narrow(reduced);
  Value quadrant = b.addI(b.bits(shifted), b.i64(quarterTurns));
  quadrant = arith::TruncIOp::create(b, b.as(b.getI32Type()), quadrant);

  Value z = b.mul(r, r);
  Value sine =
      b.polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  sine = b.fma(b.mul(sine, z), r, r);
  Value cosine = b.polynomial(
      z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  cosine = b.fma(b.mul(cosine, z), z, b.fma(z, b.f32(-0.5f), b.f32(1.0f)));
  Value odd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                    b.andI(quadrant, b.i32(1)), b.i32(0));
  Value result = b.select(odd, cosine, sine);
  // The sign of the second half turn.
  Value sign = b.shiftLeft(b.andI(quadrant, b.i32(2)), b.i32(30));
  return b.fromBits(arith::XOrIOp::create(b, b.bits(result), sign));
}

static Value emitSin(Lanes &b, math::SinOp op) {
  return emitSine(b, op.getOperand(), 0);
}
static Value emitCos(Lanes &b, math::CosOp op) {
  return emitSine(b, op.getOperand(), 1);
}

void kvern::populateTrigonometricPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximation<math::SinOp, emitSin>,
               Approximation<math::CosOp, emitCos>>(patterns.getContext());
}
