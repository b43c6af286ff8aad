//===- TransposedConvolution.cpp - Gradients of convolutions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Convolution.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Conversion/KvernToLinalg/Window.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

namespace {

/// Elements of the result whose distance is the stride take one part of the
/// filter each, all the same one: those of each phase p are a convolution of
/// stride 1. With the filter reversed, the part is every stride-th element:
///   1. Result stride * q + p is a sum over k = k0 + stride * j below the size
///   of
///      the filter, of x[q + c - j] * filter[k], where k0 + stride * c is p +
///      before, and k0 below the stride.
///   2. The window of q hence starts `taps` - 1 - c elements before q.
/// With dilations, this is so for stride 1.
struct TransposedConvolutionConversion
    : OpConversionPattern<Conv2dTransposeOp> {
  using OpConversionPattern::OpConversionPattern;

  /// One phase along one axis.
  struct Phase {
    int64_t phase, stride, dilation;
    /// The part of the reversed filter: its size and first element.
    int64_t taps, first;
    /// Elements that are read before and after those of x; may be negative.
    int64_t before, after;
    /// Elements of the result.
    DimAttr count;
  };

  static FailureOr<Phase> getPhase(Conv2dTransposeOp op, int64_t axis,
                                   int64_t phase) {
    int64_t stride = op.getStrides()[axis];
    int64_t dilation = op.getDilations()[axis];
    int64_t kernel = *getDims(op.getFilter())[axis].getStaticValue();
    if (stride != 1 && dilation != 1) {
      return failure();
    }
    MLIRContext *context = op.getContext();
    DimAttr size = getDims(op.getX())[axis + 1];
    DimAttr count = DimAttr::combine(
        AffineExprKind::FloorDiv, getDims(op)[axis + 1] + (stride - 1 - phase),
        DimAttr::getStatic(context, stride));
    int64_t shift = phase + op.getPaddings()[2 * axis];
    int64_t k0 = shift % stride;
    int64_t taps =
        k0 < kernel ? llvm::divideCeil(kernel - k0, stride) : int64_t(0);
    int64_t reach = dilation * std::max<int64_t>(taps - 1, 0);
    int64_t before = reach - shift / stride;
    std::optional<int64_t> longer =
        count ? (count - size).getStaticValue() : std::nullopt;
    if (!longer) {
      return failure();
    }
    return Phase{phase,
                 stride,
                 dilation,
                 taps,
                 kernel - 1 - k0 - stride * (taps - 1),
                 before,
                 *longer + reach - before,
                 count};
  }

  /// The phases along each axis.
  static FailureOr<SmallVector<SmallVector<Phase>, 2>>
  getPhases(Conv2dTransposeOp op) {
    constexpr int64_t kMostPhases = 16;
    if (op.getStrides()[0] > kMostPhases / op.getStrides()[1]) {
      return failure();
    }
    SmallVector<SmallVector<Phase>, 2> result(2);
    for (int64_t axis = 0; axis < 2; ++axis) {
      for (int64_t p = 0; p < op.getStrides()[axis]; ++p) {
        FailureOr<Phase> phase = getPhase(op, axis, p);
        if (failed(phase)) {
          return failure();
        }
        result[axis].push_back(*phase);
      }
    }
    return result;
  }

  /// How x and the filter are read.
  static SmallVector<AffineMap> getMaps(Conv2dTransposeOp op,
                                        const WindowLoops &window) {
    return {window.read(window.contracted(), {1, 1}, op.getDilations(), true),
            window.map({window.offset(0), window.offset(1), window.contracted(),
                        window.channel()},
                       true)};
  }

  /// `result` with the elements of two phases.
  static Value addPhase(LoopBuilder &loops, Conv2dTransposeOp op, Value padded,
                        ArrayRef<int64_t> before, Value filter, Value result,
                        ArrayRef<Phase> phases) {
    OpBuilder &b = loops.builder;
    MLIRContext *context = b.getContext();
    auto type = cast<RankedTensorType>(result.getType());
    ArrayRef<DimAttr> x = getDims(op.getX());
    ArrayRef<DimAttr> taps = getDims(op.getFilter());
    SmallVector<DimAttr> part(getDims(op)), view(x), kernel(taps);
    SmallVector<int64_t> partStart(4, 0), partStep(4, 1), viewStart(4, 0),
        kernelStart(4, 0), kernelStep(4, 1);
    for (int64_t axis = 0; axis < 2; ++axis) {
      const Phase &phase = phases[axis];
      int64_t reach = phase.dilation * std::max<int64_t>(phase.taps - 1, 0);
      part[axis + 1] = phase.count;
      partStart[axis + 1] = phase.phase;
      partStep[axis + 1] = phase.stride;
      view[axis + 1] = phase.count + reach;
      viewStart[axis + 1] = before[axis] - phase.before;
      kernel[axis] = DimAttr::getStatic(context, phase.taps);
      kernelStart[axis] = phase.first;
      kernelStep[axis] = phase.stride;
    }
    auto slice = [&](Value value, ArrayRef<DimAttr> shape,
                     ArrayRef<int64_t> start, ArrayRef<int64_t> step) -> Value {
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      return tensor::ExtractSliceOp::create(
          b, loops.location, loops.getType(shape, element), value,
          getAsIndexOpFoldResult(context, start),
          loops.dims.getFoldResults(b, loops.location, shape),
          getAsIndexOpFoldResult(context, step));
    };
    if (isEmpty(part)) {
      return result;
    }
    Value zero = arith::ConstantOp::create(
        b, loops.location,
        cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
    Value sum = linalg::FillOp::create(b, loops.location, zero,
                                       slice(result, part, partStart, partStep))
                    .getResult(0);
    if (!isEmpty(kernel)) {
      WindowLoops window(context, 2);
      // One after the other: the order of arguments is up to the compiler.
      Value input = slice(padded, view, viewStart, {1, 1, 1, 1});
      Value weights = slice(filter, kernel, kernelStart, kernelStep);
      sum =
          convolve(loops, cast<kvern::TensorType>(op.getType()), input, weights,
                   getMaps(op, window), window, /*contracts=*/true, sum);
    }
    return tensor::InsertSliceOp::create(
        b, loops.location, sum, result,
        getAsIndexOpFoldResult(context, partStart),
        loops.dims.getFoldResults(b, loops.location, part),
        getAsIndexOpFoldResult(context, partStep));
  }

  /// Zeros between and around the elements of x, so that a convolution of
  /// stride 1 gives the whole result.
  static Value spread(LoopBuilder &loops, Conv2dTransposeOp op, Value x) {
    OpBuilder &b = loops.builder;
    ArrayRef<DimAttr> shape = getDims(op.getX());
    ArrayRef<DimAttr> result = getDims(op);
    SmallVector<DimAttr> spreadShape(shape), windowShape(shape);
    SmallVector<int64_t> offsets(4, 0), strides(4, 1), starts(4, 0), ones(4, 1);
    for (int64_t axis = 0; axis < 2; ++axis) {
      int64_t kernel = *getDims(op.getFilter())[axis].getStaticValue();
      int64_t reach = op.getDilations()[axis] * (kernel - 1);
      int64_t before = reach - op.getPaddings()[2 * axis];
      int64_t after =
          reach + op.getOutputPaddings()[axis] - op.getPaddings()[2 * axis + 1];
      strides[axis + 1] = op.getStrides()[axis];
      offsets[axis + 1] = std::max<int64_t>(before, 0);
      starts[axis + 1] = std::max<int64_t>(-before, 0);
      windowShape[axis + 1] = result[axis + 1] + reach;
      // What is cut off by negative paddings comes on top.
      spreadShape[axis + 1] = windowShape[axis + 1] + starts[axis + 1] +
                              std::max<int64_t>(-after, 0);
    }
    Type storage = cast<RankedTensorType>(x.getType()).getElementType();
    Value zeros =
        loops.fill(spreadShape, cast<TypedAttr>(b.getZeroAttr(storage)));
    Value value = insertEvery(loops, x, zeros, shape, offsets, strides);
    if (spreadShape == windowShape) {
      return value;
    }
    return tensor::ExtractSliceOp::create(
        b, loops.location, loops.getType(windowShape, storage), value,
        getAsIndexOpFoldResult(b.getContext(), starts),
        loops.dims.getFoldResults(b, loops.location, windowShape),
        getAsIndexOpFoldResult(b.getContext(), ones));
  }

  static Value convolveSpread(LoopBuilder &loops, Conv2dTransposeOp op, Value x,
                              Value filter) {
    WindowLoops window(op.getContext(), 2);
    return convolve(loops, cast<kvern::TensorType>(op.getType()),
                    spread(loops, op, x), filter, getMaps(op, window), window,
                    /*contracts=*/true);
  }

  static Value convolvePhases(LoopBuilder &loops, Conv2dTransposeOp op, Value x,
                              Value filter,
                              ArrayRef<SmallVector<Phase>> phases) {
    Type storage = cast<RankedTensorType>(x.getType()).getElementType();
    auto type = cast<kvern::TensorType>(op.getType());
    SmallVector<int64_t> before(2, 0), after(2, 0);
    for (int64_t axis = 0; axis < 2; ++axis) {
      for (const Phase &phase : phases[axis]) {
        before[axis] = std::max(before[axis], phase.before);
        after[axis] = std::max(after[axis], phase.after);
      }
    }
    Value padded =
        padSpatial(loops, x, getDims(op.getX()), before, after,
                   cast<TypedAttr>(loops.builder.getZeroAttr(storage)));
    Value result =
        loops.empty(type.getShape(), getComputeType(type.getElementType()));
    for (const Phase &row : phases[0]) {
      for (const Phase &column : phases[1]) {
        result =
            addPhase(loops, op, padded, before, filter, result, {row, column});
      }
    }
    return result;
  }

  LogicalResult
  matchAndRewrite(Conv2dTransposeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isChannelsLast(op.getInputLayout()) ||
        op.getFilterLayout() != kReversedLayout) {
      return rewriter.notifyMatchFailure(op, "filter is not reversed");
    }
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    if (isEmpty(getDims(op.getX())) || isEmpty(getDims(op.getFilter())) ||
        isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, adaptor.getBias(), type));
      return success();
    }
    auto phases = getPhases(op);
    Value sum = succeeded(phases) ? convolvePhases(loops, op, adaptor.getX(),
                                                   adaptor.getFilter(), *phases)
                                  : convolveSpread(loops, op, adaptor.getX(),
                                                   adaptor.getFilter());
    rewriter.replaceOp(op,
                       finishConvolution(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

} // namespace

void kvern::populateTransposedConvolutionPatterns(TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<TransposedConvolutionConversion>(converter,
                                                patterns.getContext());
}
