//===- Reduction.cpp - Along one axis -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction is a loop whose result lacks the axis; the axis of size 1 that
// the op keeps is put back by a tensor.expand_shape. f16 and bf16 accumulate in
// f32 and are rounded by a loop of their own.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

/// `value` with an axis of size 1 at `axis`; `shape` has it.
static Value restoreAxis(LoopBuilder &loops, Value value,
                         ArrayRef<DimAttr> shape, int64_t axis) {
  int64_t rank = shape.size();
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == axis && !groups.empty()) {
      groups.back().push_back(i);
    } else if (i != axis) {
      groups.push_back({i});
      if (i == 1 && axis == 0) {
        groups.back() = {0, 1};
      }
    }
  }
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  return tensor::ExpandShapeOp::create(
      loops.builder, loops.location, loops.getType(shape, elementType), value,
      groups, loops.dims.getFoldResults(loops.builder, loops.location, shape));
}

static SmallVector<DimAttr> dropAxis(ArrayRef<DimAttr> shape, int64_t axis) {
  SmallVector<DimAttr> result(shape);
  result.erase(result.begin() + axis);
  return result;
}

/// Which of 0 and -0 is the larger costs more than the maximum.
static void ignoreSignOfZero(Value extreme) {
  Operation *op = extreme.getDefiningOp();
  if (op && isa<arith::MaximumFOp, arith::MinimumFOp>(op)) {
    op->setAttr("fastmath", arith::FastMathFlagsAttr::get(
                                op->getContext(), arith::FastMathFlags::nsz));
  }
}

namespace {

using Combiner = Value (Scalar::*)(Value, Value);

/// sum, mean, prod, reduce_max and reduce_min.
template <typename OpT> struct ReductionConversion : OpConversionPattern<OpT> {
  ReductionConversion(TypeConverter &converter, MLIRContext *context,
                      TypedAttr (*init)(Scalar &), Combiner combine)
      : OpConversionPattern<OpT>(converter, context), init(init),
        combine(combine) {}

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto from = cast<kvern::TensorType>(op.getX().getType());
    auto to = cast<kvern::TensorType>(op.getType());
    Type type = from.getElementType();
    int64_t axis = op.getAxis();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Scalar scalar(builder, type);
    Value result =
        loops.reduce(from.getShape(), axis, init(scalar),
                     loops.all(adaptor.getX(), from.getRank()),
                     [&](ImplicitLocOpBuilder &b, ValueRange values) {
                       Scalar s(b, type);
                       Value result =
                           (s.*combine)(s.load(values[0]), values[1]);
                       ignoreSignOfZero(result);
                       return result;
                     });
    constexpr bool isMean = std::is_same_v<OpT, MeanOp>;
    if (isMean || scalar.type != getStorageType(type)) {
      Value count;
      if (isMean) {
        count = castScalar(builder,
                           arith::IndexCastOp::create(
                               builder, builder.getI64Type(),
                               loops.index(loops.size(from.getShape()[axis]))),
                           builder.getI64Type(), scalar.type);
      }
      result = loops.elementwise(
          dropAxis(to.getShape(), axis), getStorageType(type),
          loops.all(result, from.getRank() - 1),
          [&](ImplicitLocOpBuilder &b, ValueRange values) {
            Scalar s(b, type);
            return s.store(isMean ? s.div(values[0], count) : values[0]);
          });
    }
    rewriter.replaceOp(op, restoreAxis(loops, result, to.getShape(), axis));
    return success();
  }

  TypedAttr (*init)(Scalar &);
  Combiner combine;
};

/// argmax and argmin: one loop that carries the extreme value and its index.
template <typename OpT, bool isMax>
struct ArgReductionConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  /// Whether x comes before `best`: strictly, so that the first of equal
  /// values wins, and NaN before every number.
  static Value isBetter(Scalar &s, Value x, Value best) {
    if (!s.isFloat()) {
      return isMax ? s.greater(x, best) : s.greater(best, x);
    }
    Value beyond = arith::CmpFOp::create(
        s.b, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x,
        best);
    Value isNumber =
        arith::CmpFOp::create(s.b, arith::CmpFPredicate::ORD, best, best);
    return arith::AndIOp::create(s.b, beyond, isNumber);
  }

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto from = cast<kvern::TensorType>(op.getX().getType());
    auto to = cast<kvern::TensorType>(op.getType());
    Type type = from.getElementType();
    int64_t rank = from.getRank();
    int64_t axis = op.getAxis();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Scalar scalar(builder, type);
    SmallVector<DimAttr> reduced = dropAxis(to.getShape(), axis);
    if (isEmpty(reduced)) {
      rewriter.replaceOp(op, loops.empty(to.getShape(), builder.getI64Type()));
      return success();
    }
    SmallVector<Value> inits{
        loops.fill(reduced, isMax ? scalar.lowest() : scalar.highest()),
        loops.fill(reduced, builder.getI64IntegerAttr(0))};
    AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
    AffineMap result = identity.dropResult(axis);
    SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
    iterators[axis] = IteratorType::reduction;
    auto loop = linalg::GenericOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(inits)), adaptor.getX(),
        inits, ArrayRef{identity, result, result}, iterators,
        [&](OpBuilder &nested, Location loc, ValueRange values) {
          ImplicitLocOpBuilder b(loc, nested);
          Scalar s(b, type);
          Value x = s.load(values[0]);
          Value better = isBetter(s, x, values[1]);
          Value index = arith::IndexCastOp::create(
              b, b.getI64Type(), linalg::IndexOp::create(b, axis));
          Value best = arith::SelectOp::create(b, better, x, values[1]);
          index = arith::SelectOp::create(b, better, index, values[2]);
          linalg::YieldOp::create(nested, loc, ValueRange{best, index});
        });
    rewriter.replaceOp(
        op, restoreAxis(loops, loop.getResult(1), to.getShape(), axis));
    return success();
  }
};

/// 1. m = max of x along the axis, of those that are numbers.
/// 2. e = exp(x - m).
/// 3. s = sum of e along the axis.
/// 4. softmax: e * (1 / s). logsoftmax: x - m - ln(s).
/// A row of minus infinity is NaN, since its x - m is; one with a NaN, by s.
template <typename OpT> struct SoftmaxConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto from = cast<kvern::TensorType>(op.getX().getType());
    Type type = from.getElementType();
    ArrayRef<DimAttr> shape = from.getShape();
    int64_t rank = from.getRank();
    int64_t axis = op.getAxis();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Scalar scalar(builder, type);
    LoopOperand x = loops.all(adaptor.getX(), rank);
    Value m = loops.reduce(shape, axis, scalar.lowest(), x,
                           [&](ImplicitLocOpBuilder &b, ValueRange values) {
                             Scalar s(b, type);
                             Value element = s.load(values[0]);
                             return arith::SelectOp::create(
                                 b, s.greater(element, values[1]), element,
                                 values[1]);
                           });
    LoopOperand max = loops.without(m, rank, axis);
    Value e = loops.elementwise(
        shape, scalar.type, {x, max},
        [&](ImplicitLocOpBuilder &b, ValueRange values) -> Value {
          Scalar s(b, type);
          // At most 1, so what is not a normal number is nothing in the sum.
          return math::ExpOp::create(b, s.sub(s.load(values[0]), values[1]),
                                     arith::FastMathFlags::afn);
        });
    Value total = loops.reduce(
        shape, axis, builder.getZeroAttr(scalar.type), loops.all(e, rank),
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          return Scalar(b, type).accumulate(values[0], values[1]);
        });
    constexpr bool isSoftmax = std::is_same_v<OpT, SoftmaxOp>;
    Value scale = loops.elementwise(
        dropAxis(shape, axis), scalar.type, loops.all(total, rank - 1),
        [&](ImplicitLocOpBuilder &b, ValueRange values) -> Value {
          Scalar s(b, type);
          return isSoftmax ? s.div(s.constant(1.0), values[0])
                           : math::LogOp::create(b, values[0]).getResult();
        });
    LoopOperand ofRow = loops.without(scale, rank, axis);
    Value result;
    if constexpr (isSoftmax) {
      result = loops.elementwise(
          shape, getStorageType(type), {loops.all(e, rank), ofRow},
          [&](ImplicitLocOpBuilder &b, ValueRange values) {
            Scalar s(b, type);
            return s.store(s.mul(values[0], values[1]));
          });
    } else {
      result =
          loops.elementwise(shape, getStorageType(type), {x, max, ofRow},
                            [&](ImplicitLocOpBuilder &b, ValueRange values) {
                              Scalar s(b, type);
                              Value shifted =
                                  s.sub(s.load(values[0]), values[1]);
                              return s.store(s.sub(shifted, values[2]));
                            });
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateReductionPatterns(TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  auto zero = [](Scalar &s) { return s.b.getZeroAttr(s.type); };
  auto one = [](Scalar &s) { return s.b.getOneAttr(s.type); };
  auto lowest = [](Scalar &s) { return s.lowest(); };
  auto highest = [](Scalar &s) { return s.highest(); };
  patterns.add<ReductionConversion<SumOp>>(converter, context, zero,
                                           &Scalar::accumulate);
  patterns.add<ReductionConversion<MeanOp>>(converter, context, zero,
                                            &Scalar::accumulate);
  patterns.add<ReductionConversion<ProdOp>>(converter, context, one,
                                            &Scalar::accumulateProduct);
  patterns.add<ReductionConversion<ReduceMaxOp>>(converter, context, lowest,
                                                 &Scalar::max);
  patterns.add<ReductionConversion<ReduceMinOp>>(converter, context, highest,
                                                 &Scalar::min);
  patterns.add<ArgReductionConversion<ArgmaxOp, true>,
               ArgReductionConversion<ArgminOp, false>,
               SoftmaxConversion<SoftmaxOp>, SoftmaxConversion<LogsoftmaxOp>>(
      converter, context);
}
