//===- Convolution.cpp - Windows that move over images --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows are loops over a padded copy of the operand, which is read at
// `place * stride + offset * dilation`. That windows fit has been checked
// before the kernel runs.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Convolution.h"

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

static ArrayRef<DimAttr> getShape(Value value) {
  return cast<kvern::TensorType>(value.getType()).getShape();
}

/// `value` copied into `destination` at `offsets`, every `strides` elements.
static Value insert(LoopBuilder &loops, Value value, Value destination,
                    ArrayRef<DimAttr> shape, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> strides) {
  OpBuilder &b = loops.builder;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> from =
      getAsIndexOpFoldResult(b.getContext(), offsets);
  SmallVector<OpFoldResult> step =
      getAsIndexOpFoldResult(b.getContext(), strides);
  SmallVector<OpFoldResult> sizes =
      loops.dims.getFoldResults(b, loops.location, shape);
  Value part = tensor::ExtractSliceOp::create(b, loops.location, type,
                                              destination, from, sizes, step);
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  auto copy = linalg::GenericOp::create(
      b, loops.location, type, value, part, ArrayRef{identity, identity},
      SmallVector<IteratorType>(type.getRank(), IteratorType::parallel),
      [](OpBuilder &nested, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(nested, loc, arguments.front());
      });
  return tensor::InsertSliceOp::create(b, loops.location, copy.getResult(0),
                                       destination, from, sizes, step);
}

/// `value` of `shape` with elements of one value before and after it along the
/// spatial axes, which start at axis 1. Each element is written once.
static Value padSpatial(LoopBuilder &loops, Value value,
                        ArrayRef<DimAttr> shape, ArrayRef<int64_t> before,
                        ArrayRef<int64_t> after, TypedAttr padding) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(before, isZero) && llvm::all_of(after, isZero)) {
    return value;
  }
  OpBuilder &b = loops.builder;
  SmallVector<DimAttr> padded(shape);
  for (size_t i = 0; i < before.size(); ++i) {
    padded[i + 1] = shape[i + 1] + (before[i] + after[i]);
  }
  Value scalar = arith::ConstantOp::create(b, loops.location, padding);
  Value result = loops.empty(padded, padding.getType());
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      sizes = loops.dims.getFoldResults(b, loops.location, padded),
      steps(shape.size(), b.getIndexAttr(1));
  // The slabs at both ends of an axis; those of later axes lie between them.
  for (size_t i = 0; i < before.size(); ++i) {
    auto fill = [&](OpFoldResult offset, int64_t size) {
      if (size == 0) {
        return;
      }
      offsets[i + 1] = offset;
      sizes[i + 1] = b.getIndexAttr(size);
      Value slab = tensor::ExtractSliceOp::create(b, loops.location, result,
                                                  offsets, sizes, steps);
      slab =
          linalg::FillOp::create(b, loops.location, scalar, slab).getResult(0);
      result = tensor::InsertSliceOp::create(b, loops.location, slab, result,
                                             offsets, sizes, steps);
    };
    fill(b.getIndexAttr(0), before[i]);
    fill(loops.size(shape[i + 1] + before[i]), after[i]);
    offsets[i + 1] = b.getIndexAttr(before[i]);
    sizes[i + 1] = loops.size(shape[i + 1]);
  }
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  llvm::copy(before, starts.begin() + 1);
  return insert(loops, value, result, shape, starts, strides);
}

namespace {

/// Loops n, spatial places, channel, kernel offsets, and one more if there is
/// something to contract.
struct WindowLoops {
  WindowLoops(MLIRContext *context, int64_t rank)
      : context(context), rank(rank) {}

  AffineExpr loop(int64_t i) const { return getAffineDimExpr(i, context); }
  AffineExpr channel() const { return loop(rank + 1); }
  AffineExpr offset(int64_t axis) const { return loop(rank + 2 + axis); }
  AffineExpr contracted() const { return loop(2 * rank + 2); }
  int64_t count(bool contracts) const { return 2 * rank + 2 + contracts; }

  /// How the padded operand is read, at channel `channel`.
  AffineMap read(AffineExpr channel, ArrayRef<int64_t> strides,
                 ArrayRef<int64_t> dilations, bool contracts) const {
    SmallVector<AffineExpr> exprs{loop(0)};
    for (int64_t axis = 0; axis < rank; ++axis) {
      exprs.push_back(loop(axis + 1) * strides[axis] +
                      offset(axis) * dilations[axis]);
    }
    exprs.push_back(channel);
    return AffineMap::get(count(contracts), 0, exprs, context);
  }
  AffineMap result(bool contracts) const {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < rank + 2; ++i) {
      exprs.push_back(loop(i));
    }
    return AffineMap::get(count(contracts), 0, exprs, context);
  }
  SmallVector<IteratorType> iterators(bool contracts) const {
    SmallVector<IteratorType> kinds(rank + 2, IteratorType::parallel);
    kinds.resize(count(contracts), IteratorType::reduction);
    return kinds;
  }

  MLIRContext *context;
  int64_t rank;
};

} // namespace

/// Adds the bias, and rounds to the storage type.
static Value finish(LoopBuilder &loops, Value sum, Value bias,
                    kvern::TensorType type) {
  Type storage = getStorageType(type.getElementType());
  if (!bias &&
      cast<RankedTensorType>(sum.getType()).getElementType() == storage) {
    return sum;
  }
  int64_t rank = type.getRank();
  SmallVector<LoopOperand> operands{loops.all(sum, rank)};
  if (bias) {
    operands.push_back(
        loops.broadcast(bias, type.getShape().take_back(), type.getShape()));
  }
  return loops.elementwise(type.getShape(), storage, operands,
                           [&](ImplicitLocOpBuilder &b, ValueRange values) {
                             Scalar s(b, type.getElementType());
                             Value result = values[0];
                             if (values.size() > 1) {
                               result = s.add(result, s.load(values[1]));
                             }
                             return s.store(result);
                           });
}

/// The sum of products of `x` and `filter`, which the maps read, added to
/// `init`; by default to a tensor of zeros of `resultType`.
static Value contract(LoopBuilder &loops, Type resultType, Value x,
                      Value filter, Value init, ArrayRef<AffineMap> maps,
                      ArrayRef<IteratorType> iterators) {
  auto type = cast<kvern::TensorType>(resultType);
  auto product = linalg::GenericOp::create(
      loops.builder, loops.location, init.getType(), ValueRange{x, filter},
      init, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder b(loc, nested);
        Scalar s(b, type.getElementType());
        Value x = s.load(arguments[0]);
        Value y = s.load(arguments[1]);
        Value sum = s.accumulate(s.accumulateProduct(x, y), arguments[2]);
        linalg::YieldOp::create(nested, loc, sum);
      });
  return product.getResult(0);
}
static Value contract(LoopBuilder &loops, Type resultType, Value x,
                      Value filter, ArrayRef<AffineMap> maps,
                      ArrayRef<IteratorType> iterators) {
  auto type = cast<kvern::TensorType>(resultType);
  Type compute = getComputeType(type.getElementType());
  Value zeros = loops.fill(type.getShape(),
                           cast<TypedAttr>(loops.builder.getZeroAttr(compute)));
  return contract(loops, resultType, x, filter, zeros, maps, iterators);
}

/// x with the zeros that `paddings` of the op ask for.
template <typename OpT>
static Value padZeros(LoopBuilder &loops, OpT op, Value x) {
  SmallVector<int64_t> before, after;
  for (auto [i, size] : llvm::enumerate(op.getPaddings())) {
    (i % 2 == 0 ? before : after).push_back(size);
  }
  Type storage = cast<RankedTensorType>(x.getType()).getElementType();
  return padSpatial(loops, x, getShape(op.getX()), before, after,
                    cast<TypedAttr>(loops.builder.getZeroAttr(storage)));
}

/// The result when there is nothing to add up.
template <typename OpT>
static Value convolveNothing(LoopBuilder &loops, OpT op, Value bias) {
  auto type = cast<kvern::TensorType>(op.getType());
  Type compute = getComputeType(type.getElementType());
  if (isEmpty(type.getShape())) {
    return loops.empty(type.getShape(), getStorageType(type.getElementType()));
  }
  Value zero = loops.fill(type.getShape(),
                          cast<TypedAttr>(loops.builder.getZeroAttr(compute)));
  return finish(loops, zero, bias, type);
}

template <typename OpT>
static LogicalResult checkLayouts(OpT op, PatternRewriter &rewriter) {
  if (!isChannelsLast(op.getInputLayout()) ||
      !isFiltersLast(op.getFilterLayout())) {
    return rewriter.notifyMatchFailure(op, "channels are not last");
  }
  return success();
}

namespace {

/// conv2d and conv3d.
template <typename OpT>
struct ConvolutionConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkLayouts(op, rewriter))) {
      return failure();
    }
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    ArrayRef<DimAttr> x = getShape(op.getX());
    ArrayRef<DimAttr> filter = getShape(op.getFilter());
    if (isEmpty(x) || isEmpty(filter) || isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, op, adaptor.getBias()));
      return success();
    }
    int64_t rank = filter.size() - 2;
    Value padded = padZeros(loops, op, adaptor.getX());

    // Which channel of x and of the filter a filter reads.
    WindowLoops window(rewriter.getContext(), rank);
    AffineExpr xChannel = window.contracted();
    AffineExpr filterChannel = window.contracted();
    bool contracts = true;
    if (int64_t groups = op.getGroups(); groups != 1) {
      int64_t channels = *filter[rank].getStaticValue();
      int64_t filters = *filter.back().getStaticValue() / groups;
      AffineExpr group =
          filters == 1 ? window.channel() : window.channel().floorDiv(filters);
      contracts = channels != 1;
      xChannel = contracts ? group * channels + xChannel : group;
      if (!contracts) {
        filterChannel = rewriter.getAffineConstantExpr(0);
      }
    }
    SmallVector<AffineExpr> filterExprs;
    for (int64_t axis = 0; axis < rank; ++axis) {
      filterExprs.push_back(window.offset(axis));
    }
    filterExprs.append({filterChannel, window.channel()});
    SmallVector<AffineMap> maps{
        window.read(xChannel, op.getStrides(), op.getDilations(), contracts),
        AffineMap::get(window.count(contracts), 0, filterExprs,
                       rewriter.getContext()),
        window.result(contracts)};
    Value sum = contract(loops, type, padded, adaptor.getFilter(), maps,
                         window.iterators(contracts));
    rewriter.replaceOp(op, finish(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

struct PackedConvolutionConversion : OpConversionPattern<PackedConvOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackedConvOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    if (isEmpty(getShape(op.getX())) || isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, op, adaptor.getBias()));
      return success();
    }
    int64_t rank = type.getRank() - 2;
    WindowLoops window(rewriter.getContext(), rank);
    int64_t panel = *getShape(op.getPanels()).back().getStaticValue();
    SmallVector<AffineExpr> exprs{window.channel().floorDiv(panel)};
    for (int64_t axis = 0; axis < rank; ++axis) {
      exprs.push_back(window.offset(axis));
    }
    exprs.append({window.contracted(), window.channel() % panel});
    SmallVector<AffineMap> maps{
        window.read(window.contracted(), op.getStrides(), op.getDilations(),
                    true),
        AffineMap::get(window.count(true), 0, exprs, rewriter.getContext()),
        window.result(true)};
    Value sum = contract(loops, type, padZeros(loops, op, adaptor.getX()),
                         adaptor.getPanels(), maps, window.iterators(true));
    rewriter.replaceOp(op, finish(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

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
    int64_t kernel = *getShape(op.getFilter())[axis].getStaticValue();
    if (stride != 1 && dilation != 1) {
      return failure();
    }
    MLIRContext *context = op.getContext();
    DimAttr size = getShape(op.getX())[axis + 1];
    DimAttr count = DimAttr::combine(
        AffineExprKind::FloorDiv, getShape(op)[axis + 1] + (stride - 1 - phase),
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

  static AffineMap getFilterMap(const WindowLoops &window) {
    return AffineMap::get(window.count(true), 0,
                          {window.offset(0), window.offset(1),
                           window.contracted(), window.channel()},
                          window.context);
  }

  /// `result` with the elements of two phases.
  static Value addPhase(LoopBuilder &loops, Conv2dTransposeOp op, Value padded,
                        ArrayRef<int64_t> before, Value filter, Value result,
                        ArrayRef<Phase> phases) {
    OpBuilder &b = loops.builder;
    MLIRContext *context = b.getContext();
    auto type = cast<RankedTensorType>(result.getType());
    ArrayRef<DimAttr> x = getShape(op.getX());
    ArrayRef<DimAttr> taps = getShape(op.getFilter());
    SmallVector<DimAttr> part(getShape(op)), view(x), kernel(taps);
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
      sum = contract(
          loops, op.getType(), slice(padded, view, viewStart, {1, 1, 1, 1}),
          slice(filter, kernel, kernelStart, kernelStep), sum,
          {window.read(window.contracted(), {1, 1}, op.getDilations(), true),
           getFilterMap(window), window.result(true)},
          window.iterators(true));
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
    ArrayRef<DimAttr> shape = getShape(op.getX());
    ArrayRef<DimAttr> result = getShape(op);
    SmallVector<DimAttr> spreadShape(shape), windowShape(shape);
    SmallVector<int64_t> offsets(4, 0), strides(4, 1), starts(4, 0), ones(4, 1);
    for (int64_t axis = 0; axis < 2; ++axis) {
      int64_t kernel = *getShape(op.getFilter())[axis].getStaticValue();
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
    Value value = insert(loops, x, zeros, shape, offsets, strides);
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
    return contract(
        loops, op.getType(), spread(loops, op, x), filter,
        {window.read(window.contracted(), {1, 1}, op.getDilations(), true),
         getFilterMap(window), window.result(true)},
        window.iterators(true));
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
        padSpatial(loops, x, getShape(op.getX()), before, after,
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
    if (isEmpty(getShape(op.getX())) || isEmpty(getShape(op.getFilter())) ||
        isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, op, adaptor.getBias()));
      return success();
    }
    auto phases = getPhases(op);
    Value sum = succeeded(phases) ? convolvePhases(loops, op, adaptor.getX(),
                                                   adaptor.getFilter(), *phases)
                                  : convolveSpread(loops, op, adaptor.getX(),
                                                   adaptor.getFilter());
    rewriter.replaceOp(op, finish(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

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
    DimAttr size = getShape(op.getX())[axis + 1];
    bool all = op.getCountBoundary();
    Value end = loops.index(loops.size(size + (all ? before + after : before)));
    return loops.elementwise(
        getShape(op)[axis + 1], compute, {},
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
    Value padded = padSpatial(loops, adaptor.getX(), getShape(op.getX()),
                              before, after, neutral(storage));
    // Gives the loops over the window their sizes; it is not read.
    Value extents =
        loops.empty({DimAttr::getStatic(op.getContext(), kernel[0]),
                     DimAttr::getStatic(op.getContext(), kernel[1])},
                    storage);
    WindowLoops window(op.getContext(), 2);
    SmallVector<AffineMap> maps{
        window.read(window.channel(), op.getStrides(), op.getDilations(),
                    false),
        AffineMap::get(window.count(false), 0,
                       {window.offset(0), window.offset(1)}, op.getContext()),
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
    ArrayRef<DimAttr> shape = getShape(op.getX());
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

void kvern::populateConvolutionPatterns(TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<ConvolutionConversion<Conv2dOp>, ConvolutionConversion<Conv3dOp>,
               PackedConvolutionConversion, TransposedConvolutionConversion,
               PoolConversion<MaxPool2dOp>, PoolConversion<AvgPool2dOp>,
               PadConversion>(converter, patterns.getContext());
}
