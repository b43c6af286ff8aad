// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// log, log2, log1p and atanh of f32, and log1p of f64.
//
// Coefficients are those of S. L. Moshier, Cephes Mathematical Library, single
// precision (logf.c, log2f.c).
#include "lib/Codegen/Lanes.h"
#include "lib/Codegen/MathApproximations.h"

using namespace mlir;
using namespace kvern;

namespace {
/// x = 2^exponent * (1 + fraction), sqrt(1/2) <= 1 + fraction < sqrt(2);
/// log(1 + fraction) = fraction + correction.
struct LogParts {
  Value exponent, fraction, correction;
};
} // namespace

static LogParts emitLogParts(Lanes &b, Value x) {
  Value tiny = b.less(x, b.f32(0x1p-126f));
  Value scaled = b.select(tiny, b.mul(x, b.f32(0x1p23f)), x);
  // Subtracting sqrt(1/2) rounds the exponent as wanted.
  Value bits = b.bits(scaled);
  Value e = b.shiftRight(b.subI(bits, b.i32(0x3F3504F3)), b.i32(23));
  Value m = b.fromBits(b.subI(bits, b.shiftLeft(e, b.i32(23))));
  LogParts parts;
  parts.exponent = arith::SIToFPOp::create(b, b.as(b.getF32Type()), e);
  parts.exponent =
      b.sub(parts.exponent, b.select(tiny, b.f32(23.0f), b.f32(0.0f)));
  Value f = parts.fraction = b.sub(m, b.f32(1.0f));
  Value p =
      b.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value square = b.mul(f, f);
  parts.correction = b.fma(square, b.f32(-0.5f), b.mul(b.mul(square, f), p));
  return parts;
}

/// Results for arguments that have no exponent and fraction.
static Value fixLog(Lanes &b, Value x, Value result) {
  result = b.select(b.less(x, b.f32(kInfinity)), result, x);
  result = b.select(b.equal(x, b.f32(0.0f)), b.f32(-kInfinity), result);
  return b.select(b.less(x, b.f32(0.0f)), b.f32(kNaN), result);
}

static Value emitLog(Lanes &b, math::LogOp op) {
  Value x = op.getOperand();
  LogParts parts = emitLogParts(b, x);
  Value low = b.fma(parts.exponent, b.f32(-2.12194440e-4f), parts.correction);
  Value result =
      b.fma(parts.exponent, b.f32(0.693359375f), b.add(parts.fraction, low));
  return fixLog(b, x, result);
}

static Value emitLog2(Lanes &b, math::Log2Op op) {
  Value x = op.getOperand();
  LogParts parts = emitLogParts(b, x);
  // log2(e) = 1 + 0.4427: the 1 is not rounded.
  Value tail = b.f32(0.44269504088896340735992f);
  Value low = b.mul(parts.correction, tail);
  low = b.fma(parts.fraction, tail, low);
  low = b.add(low, parts.correction);
  low = b.add(low, parts.fraction);
  return fixLog(b, x, b.add(low, parts.exponent));
}

/// ln(1 + x) = ln(u) + c / u, u = 1 + x as rounded and c what that lost.
Value kvern::emitLog1p(Lanes &b, Value x) {
  Value one = b.f32(1.0f);
  Value u = b.add(x, one);
  Value lost = b.sub(x, b.sub(u, one));
  LogParts parts = emitLogParts(b, u);
  Value low = b.add(parts.correction, b.div(lost, u));
  low = b.fma(parts.exponent, b.f32(-2.12194440e-4f), low);
  Value result =
      b.fma(parts.exponent, b.f32(0.693359375f), b.add(parts.fraction, low));
  result = fixLog(b, u, result);
  return b.select(b.equal(u, one), x, result);
}

static Value emitLog1pOp(Lanes &b, math::Log1pOp op) {
  return emitLog1p(b, op.getOperand());
}

/// ln(1 + 2 |x| / (1 - |x|)) / 2, with the sign of x.
static Value emitAtanh(Lanes &b, math::AtanhOp op) {
  Value x = op.getOperand();
  Value magnitude = b.abs(x);
  Value ratio =
      b.div(b.add(magnitude, magnitude), b.sub(b.f32(1.0f), magnitude));
  return b.copySign(b.mul(emitLog1p(b, ratio), b.f32(0.5f)), x);
}

/// ln(1 + x) = ln(u) * x / (u - 1), u = 1 + x as rounded: the errors of u in
/// both factors cancel (N. J. Higham, Accuracy and Stability of Numerical
/// Algorithms, 2nd ed., 1.14.1).
static Value emitWideLog1p(Lanes &b, Value x) {
  Value one = b.f64(1.0);
  Value u = b.add(x, one);
  Value log = math::LogOp::create(b, u);
  Value scale = arith::DivFOp::create(b, x, b.sub(u, one));
  Value result = b.mul(log, scale);
  result = b.select(b.equal(u, b.f64(kInfinity)), log, result);
  return b.select(b.equal(u, one), x, result);
}

namespace {
/// Upstream lowers it to a logarithm of 1 + x, which is 0 for small x.
struct WideLog1p : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64()) {
      return rewriter.notifyMatchFailure(op, "not f64");
    }
    Lanes lanes(op, rewriter);
    rewriter.replaceOp(op, emitWideLog1p(lanes, op.getOperand()));
    return success();
  }
};
} // namespace

void kvern::populateLogarithmPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximation<math::LogOp, emitLog>,
               Approximation<math::Log2Op, emitLog2>,
               Approximation<math::Log1pOp, emitLog1pOp>,
               Approximation<math::AtanhOp, emitAtanh>, WideLog1p>(
      patterns.getContext());
}
