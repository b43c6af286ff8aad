// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of f32 as arithmetic without branches or calls, and log1p of f64.
//
// Reductions and coefficients are those of S. L. Moshier, Cephes Mathematical
// Library, single precision (expf.c, logf.c, log2f.c, sinf.c).
#include "lib/Codegen/MathApproximations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>

using namespace mlir;

namespace {
/// Arithmetic on values of one shape: scalars, or vectors of equal length.
class Lanes : public ImplicitLocOpBuilder {
public:
  Lanes(Operation *op, PatternRewriter &rewriter)
      : ImplicitLocOpBuilder(op->getLoc(), rewriter),
        shape(op->getResult(0).getType()) {}

  Type as(Type element) {
    auto shaped = dyn_cast<ShapedType>(shape);
    return shaped ? shaped.clone(element) : element;
  }
  Value constant(TypedAttr scalar) {
    Type type = as(scalar.getType());
    TypedAttr value = scalar;
    if (auto shaped = dyn_cast<ShapedType>(type)) {
      value = DenseElementsAttr::get(shaped, scalar);
    }
    return arith::ConstantOp::create(*this, value);
  }
  Value f32(float value) { return constant(getF32FloatAttr(value)); }
  Value f64(double value) { return constant(getF64FloatAttr(value)); }
  Value i32(int32_t value) { return constant(getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return constant(getI64IntegerAttr(value)); }

  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(*this, a, b, c);
  }
  Value addI(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value subI(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value andI(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value shiftLeft(Value a, Value b) {
    return arith::ShLIOp::create(*this, a, b);
  }
  Value shiftRight(Value a, Value b) {
    return arith::ShRSIOp::create(*this, a, b);
  }
  Value bits(Value value) {
    bool wide = getElementTypeOrSelf(value.getType()).isF64();
    return arith::BitcastOp::create(
        *this, as(wide ? getI64Type() : getI32Type()), value);
  }
  Value fromBits(Value value) {
    return arith::BitcastOp::create(*this, as(getF32Type()), value);
  }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }
  /// The polynomial in x with these coefficients, the highest power first.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value result = f32(coefficients.front());
    for (float coefficient : coefficients.drop_front()) {
      result = fma(result, x, f32(coefficient));
    }
    return result;
  }
  /// 2^n, for -127 < n < 128.
  Value powerOfTwo(Value n) {
    return fromBits(shiftLeft(addI(n, i32(127)), i32(23)));
  }

private:
  Type shape;
};

/// 1.5 * 2^23 and 1.5 * 2^52: a sum with it is rounded to an integer, which is
/// then in the low bits.
constexpr float kRoundF32 = 0x1.8p23f;
constexpr int32_t kRoundBitsF32 = 0x4B400000;
constexpr double kRoundF64 = 0x1.8p52;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
} // namespace

/// exp(x) = 2^n * exp(r), n the integer nearest to x / ln 2, r = x - n * ln 2.
static Value emitExp(Lanes &b, Value x) {
  // Beyond, the result is infinite or zero; comparisons let NaN pass.
  x = b.select(b.less(x, b.f32(-104.0f)), b.f32(-104.0f), x);
  x = b.select(b.less(b.f32(89.0f), x), b.f32(89.0f), x);
  Value shifted = b.fma(x, b.f32(1.44269504088896341f), b.f32(kRoundF32));
  Value n = b.sub(shifted, b.f32(kRoundF32));
  Value r = b.fma(n, b.f32(-0.693359375f), x);
  r = b.fma(n, b.f32(2.12194440e-4f), r);
  Value p =
      b.polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                       4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
  p = b.add(b.fma(p, b.mul(r, r), r), b.f32(1.0f));
  // In two steps: 2^n alone overflows or is denormal at the ends.
  Value exponent = b.subI(b.bits(shifted), b.i32(kRoundBitsF32));
  Value half = b.shiftRight(exponent, b.i32(1));
  return b.mul(b.mul(p, b.powerOfTwo(half)),
               b.powerOfTwo(b.subI(exponent, half)));
}

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
      b.polynomial(f, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                       -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                       2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
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

static Value emitLog(Lanes &b, Value x) {
  LogParts parts = emitLogParts(b, x);
  Value low = b.fma(parts.exponent, b.f32(-2.12194440e-4f), parts.correction);
  Value result =
      b.fma(parts.exponent, b.f32(0.693359375f), b.add(parts.fraction, low));
  return fixLog(b, x, result);
}

static Value emitLog2(Lanes &b, Value x) {
  LogParts parts = emitLogParts(b, x);
  // log2(e) = 1 + 0.4427: the 1 is not rounded.
  Value tail = b.f32(0.44269504088896340735992f);
  Value low = b.mul(parts.correction, tail);
  low = b.fma(parts.fraction, tail, low);
  low = b.add(low, parts.correction);
  low = b.add(low, parts.fraction);
  return fixLog(b, x, b.add(low, parts.exponent));
}

/// sin(x) for quarterTurns = 0, cos(x) for 1: x = n * pi / 2 + r, |r| <= pi
/// / 4. The reduction is in f64, where n * pi / 2 in two parts is exact enough
/// up to 2^50. Beyond, where numbers of f32 are 2^27 apart, the angle counts as
/// 0.
static Value emitSine(Lanes &b, Value x, int64_t quarterTurns) {
  Value magnitude = math::AbsFOp::create(b, x);
  // Infinities and NaN become NaN.
  x = b.select(b.less(magnitude, b.f32(0x1p50f)), x, b.mul(x, b.f32(0.0f)));
  Value wide = arith::ExtFOp::create(b, b.as(b.getF64Type()), x);
  Value shifted = b.fma(wide, b.f64(0.63661977236758134308), b.f64(kRoundF64));
  Value n = b.sub(shifted, b.f64(kRoundF64));
  Value reduced = b.fma(n, b.f64(-0x1.921fb54442d18p0), wide);
  reduced = b.fma(n, b.f64(-0x1.1a62633145c07p-54), reduced);
  Value r = arith::TruncFOp::create(b, b.as(b.getF32Type()), reduced);
  Value quadrant = b.addI(b.bits(shifted), b.i64(quarterTurns));
  quadrant = arith::TruncIOp::create(b, b.as(b.getI32Type()), quadrant);

  Value z = b.mul(r, r);
  Value sine =
      b.polynomial(z, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f});
  sine = b.fma(b.mul(sine, z), r, r);
  Value cosine = b.polynomial(z, {2.443315711809948e-5f, -1.388731625493765e-3f,
                                  4.166664568298827e-2f});
  cosine = b.fma(b.mul(cosine, z), z, b.fma(z, b.f32(-0.5f), b.f32(1.0f)));
  Value odd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                    b.andI(quadrant, b.i32(1)), b.i32(0));
  Value result = b.select(odd, cosine, sine);
  // The sign of the second half turn.
  Value sign = b.shiftLeft(b.andI(quadrant, b.i32(2)), b.i32(30));
  return b.fromBits(arith::XOrIOp::create(b, b.bits(result), sign));
}

static Value emitSin(Lanes &b, Value x) { return emitSine(b, x, 0); }
static Value emitCos(Lanes &b, Value x) { return emitSine(b, x, 1); }

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
template <typename OpT, Value (*emit)(Lanes &, Value)>
struct Approximation : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32()) {
      return rewriter.notifyMatchFailure(op, "not f32");
    }
    Lanes lanes(op, rewriter);
    rewriter.replaceOp(op, emit(lanes, op.getOperand()));
    return success();
  }
};

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

void kvern::populateMathApproximationPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximation<math::ExpOp, emitExp>,
               Approximation<math::LogOp, emitLog>,
               Approximation<math::Log2Op, emitLog2>,
               Approximation<math::SinOp, emitSin>,
               Approximation<math::CosOp, emitCos>, WideLog1p>(
      patterns.getContext());
}
