//===- Pooling.cpp - Pools, and padding -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Pooling.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Conversion/KvernToLinalg/Window.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

namespace {

/// max_pool2d and avg_pool2d.
template <typename OpT> struct PoolConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  static constexpr bool isMax = std::is_same_v<OpT, MaxPool2dOp>;

  /// How many elements a window has along an axis, for each of its places.
  static Value countElements(LoopBuilder &loops, AvgPool2dOp op, int64_t axis,
                             Type compute) {
    int64_t before = op.getPaddings()[2 * axis];
    int64_t after = op.getPaddings()[2 * axis + 1];
    int64_t stride = op.getStrides()[axis];
    int64_t dilation = op.getDilations()[axis];
    DimAttr size = getDims(op.getX())[axis + 1];
    bool all = op.getCountBoundary();
    Value end = loops.index(loops.size(size + (all ? before + after : before)));
    return loops.elementwise(
        getDims(op)[axis + 1], compute, {},
        [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
          auto constant = [&](int64_t value) -> Value {
            return arith::ConstantIndexOp::create(b, value);
          };
          Value start = arith::MulIOp::create(b, linalg::IndexOp::create(b, 0),
                                              constant(stride));
          auto firstFrom = [&](Value place) -> Value {
            return arith::CeilDivSIOp::create(
                b, arith::SubIOp::create(b, place, start), constant(dilation));
          };
          Value first = arith::MaxSIOp::create(
              b, firstFrom(constant(all ? 0 : before)), constant(0));
          Value last = arith::MinSIOp::create(
              b, firstFrom(end), constant(op.getKernelSize()[axis]));
          Value count = arith::MaxSIOp::create(
              b, arith::SubIOp::create(b, last, first), constant(0));
          return castScalar(
              b, arith::IndexCastOp::create(b, b.getI64Type(), count),
              b.getI64Type(), compute);
        });
  }

  static Value divide(LoopBuilder &loops, AvgPool2dOp op, Value sum,
                      kvern::TensorType type) {
    Type element = type.getElementType();
    Type compute = getComputeType(element);
    bool isPadded =
        llvm::any_of(op.getPaddings(), [](int64_t size) { return size != 0; });
    bool isWhole = !op.getCeilMode() && (op.getCountBoundary() || !isPadded);
    SmallVector<LoopOperand> operands{loops.all(sum, type.getRank())};
    if (!isWhole) {
      for (int64_t axis = 0; axis < 2; ++axis) {
        operands.push_back(
            {countElements(loops, op, axis, compute),
             AffineMap::get(4, 0,
                            getAffineDimExpr(axis + 1, op.getContext()))});
      }
    }
    ArrayRef<int64_t> kernel = op.getKernelSize();
    return loops.elementwise(
        type.getShape(), getStorageType(element), operands,
        [&](ImplicitLocOpBuilder &b, ValueRange values) {
          Scalar s(b, element);
          Value count =
              isWhole ? s.constant(static_cast<double>(kernel[0]) * kernel[1])
                      : s.max(s.mul(values[1], values[2]), s.constant(1));
          return s.store(s.div(values[0], count));
        });
  }

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Type element = type.getElementType();
    Type storage = getStorageType(element);
    if (isEmpty(type.getShape())) {
      rewriter.replaceOp(op, loops.empty(type.getShape(), storage));
      return success();
    }
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Scalar scalar(builder, element);
    // What does not change the result: in the padding, and to begin with.
    Type accumulator = isMax ? storage : scalar.type;
    auto neutral = [&](Type type) -> TypedAttr {
      if (!isMax) {
        return cast<TypedAttr>(rewriter.getZeroAttr(type));
      }
      return isa<FloatType>(type)
                 ? rewriter.getFloatAttr(
                       type, -std::numeric_limits<double>::infinity())
                 : scalar.lowest();
    };
    SmallVector<int64_t> before, after;
    for (int64_t axis = 0; axis < 2; ++axis) {
      before.push_back(op.getPaddings()[2 * axis]);
      // Rounding up, a window reaches this far beyond the padding.
      after.push_back(op.getPaddings()[2 * axis + 1] +
                      (op.getCeilMode() ? op.getStrides()[axis] - 1 : 0));
    }
    ArrayRef<int64_t> kernel = op.getKernelSize();
    Value padded = padSpatial(loops, adaptor.getX(), getDims(op.getX()), before,
                              after, neutral(storage));
    // Gives the loops over the window their sizes; it is not read.
    Value extents =
        loops.empty({DimAttr::getStatic(op.getContext(), kernel[0]),
                     DimAttr::getStatic(op.getContext(), kernel[1])},
                    storage);
    WindowLoops window(op.getContext(), 2);
    SmallVector<AffineMap> maps{
        window.read(window.channel(), op.getStrides(), op.getDilations(),
                    false),
        window.map({window.offset(0), window.offset(1)}, false),
        window.result(false)};
    Value init = loops.fill(type.getShape(), neutral(accumulator));
    auto pool = linalg::GenericOp::create(
        rewriter, op.getLoc(), init.getType(), ValueRange{padded, extents},
        init, maps, window.iterators(false),
        [&](OpBuilder &nested, Location loc, ValueRange values) {
          ImplicitLocOpBuilder b(loc, nested);
          Scalar s(b, element);
          Value x = s.load(values[0]);
          Value result = isMax ? s.store(s.max(x, s.load(values[2])))
                               : s.accumulate(x, values[2]);
          linalg::YieldOp::create(nested, loc, result);
        });
    Value result = pool.getResult(0);
    if constexpr (!isMax) {
      result = divide(loops, op, result, type);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct PadConversion : OpConversionPattern<PadOp> {
  using OpConversionPattern::OpConversionPattern;

  /// The element of x along `axis` that the loop of the result reads.
  static Value getPlace(ImplicitLocOpBuilder &b, PadOp op, int64_t axis,
                        Value last) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value zero = constant(0);
    Value place = arith::SubIOp::create(b, linalg::IndexOp::create(b, axis),
                                        constant(op.getPaddings()[2 * axis]));
    if (op.getMode() == "edge") {
      place = arith::MaxSIOp::create(b, place, zero);
      return arith::MinSIOp::create(b, place, last);
    }
    // |place|, then the same from the other end.
    auto absolute = [&](Value value) -> Value {
      return arith::MaxSIOp::create(b, value,
                                    arith::SubIOp::create(b, zero, value));
    };
    Value fromEnd = arith::SubIOp::create(b, last, absolute(place));
    return arith::SubIOp::create(b, last, absolute(fromEnd));
  }

  LogicalResult
  matchAndRewrite(PadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    Type storage = getStorageType(type.getElementType());
    ArrayRef<DimAttr> shape = getDims(op.getX());
    if (isEmpty(type.getShape())) {
      rewriter.replaceOp(op, loops.empty(type.getShape(), storage));
      return success();
    }
    if (op.getMode() == "constant") {
      Value scalar = tensor::ExtractOp::create(
          rewriter, op.getLoc(), adaptor.getValue(), ValueRange());
      Value result =
          linalg::FillOp::create(rewriter, op.getLoc(), scalar,
                                 loops.empty(type.getShape(), storage))
              .getResult(0);
      if (!isEmpty(shape)) {
        SmallVector<OpFoldResult> offsets;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          offsets.push_back(rewriter.getIndexAttr(op.getPaddings()[2 * axis]));
        }
        result = loops.insert(adaptor.getX(), result, shape, offsets);
      }
      rewriter.replaceOp(op, result);
      return success();
    }
    SmallVector<Value> last;
    for (DimAttr dim : shape) {
      last.push_back(loops.index(loops.size(dim + -1)));
    }
    Value result = loops.elementwise(
        type.getShape(), storage, {},
        [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
          SmallVector<Value> places;
          for (int64_t axis = 0; axis < type.getRank(); ++axis) {
            places.push_back(getPlace(b, op, axis, last[axis]));
          }
          return tensor::ExtractOp::create(b, adaptor.getX(), places);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populatePoolingPatterns(TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<PoolConversion<MaxPool2dOp>, PoolConversion<AvgPool2dOp>,
               PadConversion>(converter, patterns.getContext());
}
