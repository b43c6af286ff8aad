//===- Elementwise.cpp - One element at a time ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op is one linalg.generic without reductions whose result map is the
// identity; broadcasting and reordering are in the maps of the operands.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kvern;

/// What an op does to one element; the values have the compute type of the
/// operands. The result is rounded to the element type of the op.
using Formula = Value (*)(Scalar &, ValueRange);

static Type getElementType(Value value) {
  return cast<kvern::TensorType>(value.getType()).getElementType();
}
static ArrayRef<DimAttr> getShape(Value value) {
  return cast<kvern::TensorType>(value.getType()).getShape();
}

/// The operands, aligned with the result at the last axis.
static SmallVector<LoopOperand>
broadcastOperands(LoopBuilder &loops, Operation *op, ValueRange converted) {
  SmallVector<LoopOperand> operands;
  for (auto [value, operand] : llvm::zip_equal(converted, op->getOperands())) {
    operands.push_back(
        loops.broadcast(value, getShape(operand), getShape(op->getResult(0))));
  }
  return operands;
}

namespace {

/// An op whose formula needs no attributes.
template <typename OpT>
struct ElementwiseConversion : OpConversionPattern<OpT> {
  ElementwiseConversion(TypeConverter &converter, MLIRContext *context,
                        Formula formula)
      : OpConversionPattern<OpT>(converter, context), formula(formula) {}

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    Type from = getElementType(op->getOperands().back());
    Type to = getElementType(op.getResult());
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
      Scalar scalar(b, from);
      SmallVector<Value> values;
      for (Value argument : arguments) {
        values.push_back(scalar.load(argument));
      }
      return Scalar(b, to).store(formula(scalar, values));
    };
    Value result = loops.elementwise(
        getShape(op.getResult()), getStorageType(to),
        broadcastOperands(loops, op, adaptor.getOperands()), body);
    rewriter.replaceOp(op, result);
    return success();
  }

  Formula formula;
};

struct WhereConversion : OpConversionPattern<WhereOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WhereOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    Value result = loops.elementwise(
        getShape(op.getResult()),
        getStorageType(getElementType(op.getResult())),
        broadcastOperands(loops, op, adaptor.getOperands()),
        [](ImplicitLocOpBuilder &b, ValueRange values) -> Value {
          Value condition = Scalar(b, b.getI1Type()).load(values[0]);
          return arith::SelectOp::create(b, condition, values[1], values[2]);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct CastConversion : OpConversionPattern<CastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    Type from = getElementType(op.getX());
    Type to = getElementType(op.getResult());
    Value result =
        loops.elementwise(getShape(op.getResult()), getStorageType(to),
                          broadcastOperands(loops, op, adaptor.getOperands()),
                          [&](ImplicitLocOpBuilder &b, ValueRange values) {
                            return castScalar(b, values[0], from, to);
                          });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct GeluConversion : OpConversionPattern<GeluOp> {
  using OpConversionPattern::OpConversionPattern;

  static Value compute(Scalar &s, Value x, StringRef form) {
    // Errors next to 1 are lost in the sum.
    constexpr arith::FastMathFlags kFast = arith::FastMathFlags::afn;
    if (form == "quick") {
      return s.mul(x, s.sigmoid(s.mul(s.constant(1.702), x)));
    }
    Value bent;
    if (form == "tanh") {
      // sqrt(2 / pi)
      constexpr double scale = 0.79788456080286535588;
      Value cube = s.mul(s.mul(x, x), x);
      Value inner = s.add(x, s.mul(s.constant(0.044715), cube));
      bent = math::TanhOp::create(s.b, s.mul(s.constant(scale), inner), kFast);
    } else {
      // 1 / sqrt(2)
      constexpr double scale = 0.70710678118654752440;
      bent = math::ErfOp::create(s.b, s.mul(x, s.constant(scale)), kFast);
    }
    return s.mul(s.mul(x, s.constant(0.5)), s.add(s.constant(1.0), bent));
  }

  LogicalResult
  matchAndRewrite(GeluOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    Type type = getElementType(op.getX());
    Value result = loops.elementwise(
        getShape(op.getResult()), getStorageType(type),
        broadcastOperands(loops, op, adaptor.getOperands()),
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, type);
          return s.store(compute(s, s.load(values[0]), op.getApproximate()));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct BroadcastToConversion : OpConversionPattern<BroadcastToOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BroadcastToOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    Value result = loops.elementwise(
        getShape(op.getResult()),
        getStorageType(getElementType(op.getResult())),
        broadcastOperands(loops, op, adaptor.getOperands()),
        [](ImplicitLocOpBuilder &, ValueRange values) { return values[0]; });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct PermuteConversion : OpConversionPattern<PermuteOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PermuteOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    // Loop i runs along axis permutation[i] of the operand.
    SmallVector<AffineExpr> exprs(op.getPermutation().size());
    for (auto [loop, axis] : llvm::enumerate(op.getPermutation())) {
      exprs[axis] = rewriter.getAffineDimExpr(loop);
    }
    LoopOperand x{adaptor.getX(), AffineMap::get(exprs.size(), 0, exprs,
                                                 rewriter.getContext())};
    Value result = loops.elementwise(
        getShape(op.getResult()),
        getStorageType(getElementType(op.getResult())), x,
        [](ImplicitLocOpBuilder &, ValueRange values) { return values[0]; });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// A list of ops and formulas.
struct Formulas {
  TypeConverter &converter;
  RewritePatternSet &patterns;

  template <typename OpT> void add(Formula formula) {
    patterns.add<ElementwiseConversion<OpT>>(converter, patterns.getContext(),
                                             formula);
  }
  template <typename OpT, typename MathOpT> void addMath() {
    add<OpT>([](Scalar &s, ValueRange x) -> Value {
      return MathOpT::create(s.b, x[0]);
    });
  }
};

} // namespace

static void addUnaryFormulas(Formulas formulas) {
  formulas.addMath<AtanhOp, math::AtanhOp>();
  formulas.addMath<CeilOp, math::CeilOp>();
  formulas.addMath<CosOp, math::CosOp>();
  formulas.addMath<ErfOp, math::ErfOp>();
  formulas.addMath<ExpOp, math::ExpOp>();
  formulas.addMath<FloorOp, math::FloorOp>();
  formulas.addMath<LogOp, math::LogOp>();
  formulas.addMath<Log1pOp, math::Log1pOp>();
  formulas.addMath<RoundOp, math::RoundEvenOp>();
  formulas.addMath<RsqrtOp, math::RsqrtOp>();
  formulas.addMath<SinOp, math::SinOp>();
  formulas.addMath<SqrtOp, math::SqrtOp>();
  formulas.addMath<TanhOp, math::TanhOp>();
  formulas.addMath<TruncOp, math::TruncOp>();

  formulas.add<AcosOp>([](Scalar &s, ValueRange x) -> Value {
    Value clamped = s.min(s.max(x[0], s.constant(-1.0)), s.constant(1.0));
    return math::AcosOp::create(s.b, clamped);
  });
  formulas.add<SigmoidOp>(
      [](Scalar &s, ValueRange x) { return s.sigmoid(x[0]); });
  formulas.add<SiluOp>([](Scalar &s, ValueRange x) {
    Value exp = math::ExpOp::create(s.b, s.neg(x[0]));
    return s.div(x[0], s.add(s.constant(1.0), exp));
  });
  formulas.add<AbsOp>([](Scalar &s, ValueRange x) { return s.abs(x[0]); });
  formulas.add<NegateOp>([](Scalar &s, ValueRange x) { return s.neg(x[0]); });
  formulas.add<ReluOp>(
      [](Scalar &s, ValueRange x) { return s.max(x[0], s.integer(0)); });
  formulas.add<IsInfOp>([](Scalar &s, ValueRange x) {
    return s.equal(s.abs(x[0]), s.infinity());
  });
  formulas.add<IsNanOp>(
      [](Scalar &s, ValueRange x) { return s.notEqual(x[0], x[0]); });
  formulas.add<LogicalNotOp>([](Scalar &s, ValueRange x) -> Value {
    return arith::XOrIOp::create(s.b, x[0], s.integer(1));
  });
}

static void addBinaryFormulas(Formulas formulas) {
  formulas.add<AddOp>(
      [](Scalar &s, ValueRange x) { return s.add(x[0], x[1]); });
  formulas.add<SubOp>(
      [](Scalar &s, ValueRange x) { return s.sub(x[0], x[1]); });
  formulas.add<MulOp>(
      [](Scalar &s, ValueRange x) { return s.mul(x[0], x[1]); });
  formulas.add<DivOp>(
      [](Scalar &s, ValueRange x) { return s.div(x[0], x[1]); });
  formulas.add<FloorDivOp>(
      [](Scalar &s, ValueRange x) { return s.floorDiv(x[0], x[1]); });
  formulas.add<ModOp>(
      [](Scalar &s, ValueRange x) { return s.mod(x[0], x[1]); });
  formulas.add<PowOp>(
      [](Scalar &s, ValueRange x) { return s.pow(x[0], x[1]); });
  formulas.add<MaxOp>(
      [](Scalar &s, ValueRange x) { return s.max(x[0], x[1]); });
  formulas.add<MinOp>(
      [](Scalar &s, ValueRange x) { return s.min(x[0], x[1]); });

  formulas.add<EqualOp>(
      [](Scalar &s, ValueRange x) { return s.equal(x[0], x[1]); });
  formulas.add<NotEqualOp>(
      [](Scalar &s, ValueRange x) { return s.notEqual(x[0], x[1]); });
  formulas.add<GreaterOp>(
      [](Scalar &s, ValueRange x) { return s.greater(x[0], x[1]); });
  formulas.add<GreaterEqualOp>(
      [](Scalar &s, ValueRange x) { return s.greaterEqual(x[0], x[1]); });

  formulas.add<LogicalAndOp>([](Scalar &s, ValueRange x) -> Value {
    return arith::AndIOp::create(s.b, x[0], x[1]);
  });
  formulas.add<LogicalOrOp>([](Scalar &s, ValueRange x) -> Value {
    return arith::OrIOp::create(s.b, x[0], x[1]);
  });
  formulas.add<LogicalXorOp>([](Scalar &s, ValueRange x) -> Value {
    return arith::XOrIOp::create(s.b, x[0], x[1]);
  });
}

void kvern::populateElementwisePatterns(TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  addUnaryFormulas({converter, patterns});
  addBinaryFormulas({converter, patterns});
  patterns.add<WhereConversion, CastConversion, GeluConversion,
               BroadcastToConversion, PermuteConversion>(converter,
                                                         patterns.getContext());
}
