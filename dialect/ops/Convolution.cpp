//===- Convolution.cpp - Windows that move over images --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Convolution.h"

#include "dialect/Inference.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Convolution.cpp.inc"

bool kvern::isChannelsLast(StringRef inputLayout) {
  return inputLayout.ends_with("C");
}

bool kvern::isFiltersLast(StringRef filterLayout) {
  return filterLayout.ends_with("F");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {

/// The attributes that all windows have, for `rank` spatial axes.
struct Window {
  int64_t rank;
  ArrayRef<int64_t> strides, dilations, paddings;

  /// The elements from the first to the last of `k` elements, and both.
  int64_t getExtent(int64_t axis, int64_t k) const {
    return dilations[axis] * (k - 1) + 1;
  }
  int64_t before(int64_t axis) const { return paddings[2 * axis]; }
  int64_t after(int64_t axis) const { return paddings[2 * axis + 1]; }
};

} // namespace

template <typename OpT> static Window getWindow(OpT op, int64_t rank) {
  return {rank, op.getStrides(), op.getDilations(), op.getPaddings()};
}

static LogicalResult checkWindow(InferError error, const Window &window,
                                 ArrayRef<DimAttr> shape) {
  int64_t rank = window.rank;
  // window_c1
  if (static_cast<int64_t>(shape.size()) != rank + 2) {
    return error("expected x of rank ", rank + 2, ", but got shape ",
                 toString(shape));
  }
  auto isPositive = [](int64_t value) { return value >= 1; };
  for (auto [name, values] : {std::pair("strides", window.strides),
                              std::pair("dilations", window.dilations)}) {
    // window_c2
    if (static_cast<int64_t>(values.size()) != rank ||
        !llvm::all_of(values, isPositive)) {
      return error("expected ", rank, " ", name, " of 1 or more, but got [",
                   values, "]");
    }
  }
  // window_c3
  if (static_cast<int64_t>(window.paddings.size()) != 2 * rank ||
      !llvm::all_of(window.paddings, [](int64_t p) { return p >= 0; })) {
    return error("expected ", 2 * rank, " paddings of 0 or more, but got [",
                 window.paddings, "]");
  }
  return success();
}

/// `(size + slack) floordiv stride + 1`, for `slack` = paddings - extent.
static DimAttr getPositions(DimAttr size, int64_t slack, int64_t stride) {
  MLIRContext *context = size.getContext();
  DimAttr span = size + slack;
  DimAttr steps = span ? DimAttr::combine(AffineExprKind::FloorDiv, span,
                                          DimAttr::getStatic(context, stride))
                       : DimAttr();
  return steps ? steps + 1 : DimAttr();
}

/// The number of places of a window along one axis.
static FailureOr<DimAttr> inferPositions(InferError error, const Window &window,
                                         int64_t axis, DimAttr size, int64_t k,
                                         bool ceilMode) {
  int64_t extent, padding, slack;
  bool overflows =
      llvm::MulOverflow(window.dilations[axis], k - 1, extent) ||
      llvm::AddOverflow(extent, int64_t(1), extent) ||
      llvm::AddOverflow(window.before(axis), window.after(axis), padding) ||
      llvm::SubOverflow(padding, extent, slack);
  DimAttr padded = overflows ? DimAttr() : size + padding;
  // window_c4
  if (padded && padded.isStatic() && *padded.getStaticValue() < extent) {
    return error("expected the window of ", extent,
                 " elements to fit into spatial axis ", axis, " of size ",
                 size.str(), " with paddings ", window.before(axis), " and ",
                 window.after(axis));
  }
  if (padded && ceilMode) {
    // Whole windows and one more, unless that starts behind x.
    int64_t stride = window.strides[axis];
    overflows |= llvm::AddOverflow(slack, stride - 1, slack);
    slack = std::min(slack, window.before(axis) - 1);
  }
  DimAttr result =
      overflows ? DimAttr() : getPositions(size, slack, window.strides[axis]);
  // window_c5
  if (!result) {
    return error("the size of the result overflows 64 bits at spatial axis ",
                 axis);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

namespace {

/// What the shapes of x and the filter say.
struct ConvolutionShape {
  DimAttr batch, channels;
  SmallVector<DimAttr> spatial;
  SmallVector<int64_t> kernel;
  DimAttr filterChannels, filters;
};

} // namespace

template <typename AdaptorT>
static FailureOr<ConvolutionShape>
getConvolutionShape(InferError error, AdaptorT adaptor,
                    ArrayRef<kvern::TensorType> types, const Window &window,
                    ArrayRef<StringRef> inputLayouts,
                    ArrayRef<StringRef> filterLayouts) {
  ArrayRef<DimAttr> x = types[0].getShape();
  ArrayRef<DimAttr> filter = types[1].getShape();
  if (failed(checkWindow(error, window, x))) {
    return failure();
  }
  for (auto [layout, known] :
       {std::pair(adaptor.getInputLayout(), inputLayouts),
        std::pair(adaptor.getFilterLayout(), filterLayouts)}) {
    // filter_c1
    if (!llvm::is_contained(known, layout)) {
      return error("expected a layout of ", llvm::join(known, ", "),
                   ", but got ", layout);
    }
  }
  size_t rank = window.rank;
  // filter_c2
  if (filter.size() != rank + 2) {
    return error("expected a filter of rank ", rank + 2, ", but got shape ",
                 toString(filter));
  }
  ConvolutionShape shape;
  bool channelsLast = isChannelsLast(adaptor.getInputLayout());
  bool filtersLast = isFiltersLast(adaptor.getFilterLayout());
  shape.batch = x[0];
  shape.channels = channelsLast ? x.back() : x[1];
  shape.spatial.assign(x.slice(channelsLast ? 1 : 2, rank));
  bool isReversed = adaptor.getFilterLayout() == kReversedLayout;
  shape.filterChannels = filter[isReversed ? rank + 1 : filtersLast ? rank : 1];
  shape.filters = filter[isReversed ? rank : filtersLast ? rank + 1 : 0];
  for (DimAttr dim : filter.slice(filtersLast || isReversed ? 0 : 2, rank)) {
    shape.kernel.push_back(dim.getStaticValue().value_or(0));
    // filter_c2
    if (shape.kernel.back() < 1) {
      return error("expected static spatial sizes of 1 or more of the filter, "
                   "but got shape ",
                   toString(filter));
    }
  }
  return shape;
}

static LogicalResult checkFilter(InferError error, DimAttr channels,
                                 DimAttr expected, DimAttr filters,
                                 ArrayRef<kvern::TensorType> types) {
  // filter_c3
  if (!expected || channels != expected) {
    return error("expected the channel axis of x to have size ",
                 expected ? expected.str() : "(overflowing)",
                 ", as the filter reads, but got ", channels.str());
  }
  // filter_c4
  if (types.size() > 2 &&
      (types[2].getRank() != 1 || types[2].getShape()[0] != filters)) {
    return error("expected bias of shape [", filters.str(), "], but got ",
                 toString(types[2].getShape()));
  }
  return success();
}

static LogicalResult
addConvolutionResult(InferError error, kvern::TensorType like, StringRef layout,
                     DimAttr batch, DimAttr channels, ArrayRef<DimAttr> spatial,
                     SmallVectorImpl<Type> &results) {
  SmallVector<DimAttr> shape{batch};
  if (!isChannelsLast(layout)) {
    shape.push_back(channels);
  }
  shape.append(spatial.begin(), spatial.end());
  if (isChannelsLast(layout)) {
    shape.push_back(channels);
  }
  return addResult(error, like, shape, results);
}

template <typename OpT>
static LogicalResult inferConvolution(std::optional<Location> location,
                                      typename OpT::Adaptor adaptor,
                                      int64_t rank,
                                      ArrayRef<StringRef> inputLayouts,
                                      ArrayRef<StringRef> filterLayouts,
                                      SmallVectorImpl<Type> &results) {
  InferError error(location, OpT::getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types) || failed(checkSameDevice(error, *types)) ||
      failed(checkSameElementType(error, *types))) {
    return failure();
  }
  Window window = getWindow(adaptor, rank);
  auto shape = getConvolutionShape(error, adaptor, *types, window, inputLayouts,
                                   filterLayouts);
  if (failed(shape)) {
    return failure();
  }
  int64_t groups = adaptor.getGroups();
  std::optional<int64_t> filters = shape->filters.getStaticValue();
  // conv_c1
  if (groups < 1 || (groups != 1 && (!filters || *filters % groups != 0 ||
                                     !shape->filterChannels.isStatic()))) {
    return error("expected groups that divide the ", shape->filters.str(),
                 " filters of ", shape->filterChannels.str(),
                 " channels, static numbers with more than one group, but got ",
                 groups);
  }
  if (failed(checkFilter(error, shape->channels, shape->filterChannels * groups,
                         shape->filters, *types))) {
    return failure();
  }
  SmallVector<DimAttr> spatial;
  for (int64_t axis = 0; axis < rank; ++axis) {
    auto size = inferPositions(error, window, axis, shape->spatial[axis],
                               shape->kernel[axis], /*ceilMode=*/false);
    if (failed(size)) {
      return failure();
    }
    spatial.push_back(*size);
  }
  return addConvolutionResult(error, types->front(), adaptor.getInputLayout(),
                              shape->batch, shape->filters, spatial, results);
}

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  return inferConvolution<Conv2dOp>(location, adaptor, 2, {"NHWC", "NCHW"},
                                    {"RSCF", "FCRS"}, results);
}

LogicalResult Conv3dOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  return inferConvolution<Conv3dOp>(location, adaptor, 3, {"NDHWC", "NCDHW"},
                                    {"QRSCF", "FCQRS"}, results);
}

LogicalResult PackedConvOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types) || failed(checkSameDevice(error, *types)) ||
      failed(checkSameElementType(error, *types))) {
    return failure();
  }
  ArrayRef<DimAttr> x = types->front().getShape();
  ArrayRef<DimAttr> panels = (*types)[1].getShape();
  auto isEmpty = [](DimAttr dim) {
    return dim.getStaticValue().value_or(0) < 1;
  };
  // packed_conv_c1
  if (panels.size() != x.size() + 1 || llvm::any_of(panels, isEmpty)) {
    return error("expected panels of rank ", x.size() + 1,
                 " and static sizes of 1 or more, but got ", toString(panels));
  }
  Window window = getWindow(adaptor, static_cast<int64_t>(panels.size()) - 3);
  if (failed(checkWindow(error, window, x))) {
    return failure();
  }
  // packed_conv_c2
  if (x.back() != panels[panels.size() - 2]) {
    return error("expected the channel axis of x to have size ",
                 panels[panels.size() - 2].str(),
                 ", as the panels have, but got ", x.back().str());
  }
  int64_t count = *panels.front().getStaticValue();
  int64_t panel = *panels.back().getStaticValue();
  int64_t filters = adaptor.getFilters();
  // packed_conv_c3
  if (filters < 1 || (filters - 1) / panel + 1 != count) {
    return error("expected filters that fill ", count, " panels of ", panel,
                 ", but got ", filters);
  }
  SmallVector<DimAttr> shape{x.front()};
  for (int64_t axis = 0; axis < window.rank; ++axis) {
    auto size = inferPositions(error, window, axis, x[axis + 1],
                               *panels[axis + 1].getStaticValue(),
                               /*ceilMode=*/false);
    if (failed(size)) {
      return failure();
    }
    shape.push_back(*size);
  }
  shape.push_back(DimAttr::getStatic(context, filters));
  // packed_conv_c4
  if (types->size() > 2 && (*types)[2].getShape() != ArrayRef(shape.back())) {
    return error("expected bias of shape [", filters, "], but got ",
                 toString((*types)[2].getShape()));
  }
  return addResult(error, types->front(), shape, results);
}

/// `(size - 1) * stride + extent - paddings + outputPadding`; null on overflow.
static DimAttr getTransposedSize(const Window &window, int64_t axis,
                                 DimAttr size, int64_t k,
                                 int64_t outputPadding) {
  DimAttr span = DimAttr::getStatic(size.getContext(), k - 1);
  span = span * window.dilations[axis];
  DimAttr result = size + -1;
  result = result ? result * window.strides[axis] : result;
  result = result && span ? result + span : DimAttr();
  for (int64_t part :
       {int64_t(1), -window.before(axis), -window.after(axis), outputPadding}) {
    result = result ? result + part : result;
  }
  return result;
}

LogicalResult Conv2dTransposeOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types) || failed(checkSameDevice(error, *types)) ||
      failed(checkSameElementType(error, *types))) {
    return failure();
  }
  Window window = getWindow(adaptor, 2);
  auto shape =
      getConvolutionShape(error, adaptor, *types, window, {"NHWC", "NCHW"},
                          {"RSCF", "FCRS", kReversedLayout});
  // Filters are the channels of x here.
  if (failed(shape) ||
      failed(checkFilter(error, shape->channels, shape->filters,
                         shape->filterChannels, *types))) {
    return failure();
  }
  ArrayRef<int64_t> extra = adaptor.getOutputPaddings();
  SmallVector<DimAttr> spatial;
  for (int64_t axis = 0; axis < window.rank; ++axis) {
    // conv_transpose_c1
    if (extra.size() != 2 || extra[axis] < 0 ||
        (extra[axis] >= window.strides[axis] &&
         extra[axis] >= window.dilations[axis])) {
      return error("expected 2 output paddings of 0 or more, below the stride "
                   "or the dilation, but got [",
                   extra, "]");
    }
    DimAttr size = getTransposedSize(window, axis, shape->spatial[axis],
                                     shape->kernel[axis], extra[axis]);
    // window_c5
    if (!size) {
      return error("the size of the result overflows 64 bits at spatial axis ",
                   axis);
    }
    // conv_transpose_c2
    if (size.isStatic() && *size.getStaticValue() < 1) {
      return error("expected a result of 1 element or more along spatial axis ",
                   axis, ", but got ", size.str());
    }
    spatial.push_back(size);
  }
  return addConvolutionResult(error, types->front(), adaptor.getInputLayout(),
                              shape->batch, shape->filterChannels, spatial,
                              results);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult inferPool(std::optional<Location> location,
                               typename OpT::Adaptor adaptor,
                               SmallVectorImpl<Type> &results) {
  InferError error(location, OpT::getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  Window window = getWindow(adaptor, 2);
  ArrayRef<DimAttr> x = types->front().getShape();
  if (failed(checkWindow(error, window, x))) {
    return failure();
  }
  ArrayRef<int64_t> kernel = adaptor.getKernelSize();
  // pool_c1
  if (kernel.size() != 2 || kernel[0] < 1 || kernel[1] < 1) {
    return error("expected 2 kernel sizes of 1 or more, but got [", kernel,
                 "]");
  }
  SmallVector<DimAttr> shape(x);
  for (int64_t axis = 0; axis < 2; ++axis) {
    auto size = inferPositions(error, window, axis, x[axis + 1], kernel[axis],
                               adaptor.getCeilMode());
    if (failed(size)) {
      return failure();
    }
    int64_t extent = window.getExtent(axis, kernel[axis]);
    // pool_c2
    if (window.before(axis) >= extent || window.after(axis) >= extent) {
      return error("expected paddings shorter than the window of ", extent,
                   " elements at spatial axis ", axis, ", but got ",
                   window.before(axis), " and ", window.after(axis));
    }
    shape[axis + 1] = *size;
  }
  return addResult(error, types->front(), shape, results);
}

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return inferPool<MaxPool2dOp>(location, adaptor, results);
}

LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return inferPool<AvgPool2dOp>(location, adaptor, results);
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types) || failed(checkSameDevice(error, *types)) ||
      failed(checkSameElementType(error, *types))) {
    return failure();
  }
  ArrayRef<DimAttr> x = types->front().getShape();
  ArrayRef<int64_t> paddings = adaptor.getPaddings();
  // pad_c1
  if (paddings.size() != 2 * x.size() ||
      !llvm::all_of(paddings, [](int64_t p) { return p >= 0; })) {
    return error("expected ", 2 * x.size(), " paddings of 0 or more for shape ",
                 toString(x), ", but got [", paddings, "]");
  }
  StringRef mode = adaptor.getMode();
  // pad_c2
  if (mode != "constant" && mode != "reflect" && mode != "edge") {
    return error("expected mode constant, reflect or edge, but got ", mode);
  }
  // pad_c3
  bool hasScalar = types->size() > 1 && types->back().getRank() == 0;
  if ((mode == "constant") != hasScalar || types->size() > 1 + hasScalar) {
    return error(
        "expected a scalar value with mode constant only, but got mode ", mode,
        types->size() > 1 ? " and shape " : " and none",
        types->size() > 1 ? toString(types->back().getShape()) : "");
  }
  SmallVector<DimAttr> shape;
  for (auto [axis, dim] : llvm::enumerate(x)) {
    int64_t longest = std::max(paddings[2 * axis], paddings[2 * axis + 1]);
    std::optional<int64_t> size = dim.getStaticValue();
    // pad_c4
    if (size && longest != 0 &&
        ((mode == "reflect" && longest >= *size) ||
         (mode == "edge" && *size == 0))) {
      return error("expected axis ", axis, " to have the elements that mode ",
                   mode, " repeats for a padding of ", longest,
                   ", but got size ", *size);
    }
    DimAttr padded = dim + paddings[2 * axis];
    padded = padded ? padded + paddings[2 * axis + 1] : padded;
    // pad_c5
    if (!padded) {
      return error("the size of the result overflows 64 bits at axis ", axis);
    }
    shape.push_back(padded);
  }
  return addResult(error, types->front(), shape, results);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static DimAttr getDim(Operation *op, int64_t value) {
  return DimAttr::getStatic(op->getContext(), value);
}

/// The padded spatial axes of x are at least as long as the window.
template <typename OpT>
static void addWindowConditions(OpT op, ArrayRef<int64_t> kernel,
                                int64_t firstAxis,
                                SmallVectorImpl<SizeCondition> &conditions) {
  auto shape = cast<kvern::TensorType>(op.getX().getType()).getShape();
  Window window = getWindow(op, kernel.size());
  for (int64_t axis = 0; axis < window.rank; ++axis) {
    DimAttr size = shape[firstAxis + axis] + window.before(axis);
    conditions.push_back({getDim(op, window.getExtent(axis, kernel[axis])),
                          size ? size + window.after(axis) : size,
                          "the window to fit into padded axis " +
                              std::to_string(firstAxis + axis)});
  }
}

template <typename OpT>
static void
addConvolutionConditions(OpT op, SmallVectorImpl<SizeCondition> &conditions) {
  auto filter = cast<kvern::TensorType>(op.getFilter().getType()).getShape();
  bool filtersLast = isFiltersLast(op.getFilterLayout());
  SmallVector<int64_t> kernel;
  for (DimAttr dim : filter.slice(filtersLast ? 0 : 2, filter.size() - 2)) {
    kernel.push_back(*dim.getStaticValue());
  }
  addWindowConditions(op, kernel, isChannelsLast(op.getInputLayout()) ? 1 : 2,
                      conditions);
}

SmallVector<SizeCondition> kvern::getSizeConditions(Operation *op) {
  SmallVector<SizeCondition> conditions;
  if (auto conv = dyn_cast<Conv2dOp>(op)) {
    addConvolutionConditions(conv, conditions);
  } else if (auto conv = dyn_cast<Conv3dOp>(op)) {
    addConvolutionConditions(conv, conditions);
  } else if (auto pool = dyn_cast<MaxPool2dOp>(op)) {
    addWindowConditions(pool, pool.getKernelSize(), 1, conditions);
  } else if (auto pool = dyn_cast<AvgPool2dOp>(op)) {
    addWindowConditions(pool, pool.getKernelSize(), 1, conditions);
  } else if (auto conv = dyn_cast<Conv2dTransposeOp>(op)) {
    auto shape = cast<kvern::TensorType>(conv.getType()).getShape();
    int64_t first = isChannelsLast(conv.getInputLayout()) ? 1 : 2;
    for (int64_t axis = first; axis < first + 2; ++axis) {
      conditions.push_back({getDim(op, 1), shape[axis],
                            "axis " + std::to_string(axis) +
                                " of the result to have an element"});
    }
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    auto shape = cast<kvern::TensorType>(pad.getX().getType()).getShape();
    int64_t kept = pad.getMode() == "reflect" ? 1 : 0;
    for (auto [axis, dim] : llvm::enumerate(shape)) {
      int64_t longest = std::max(pad.getPaddings()[2 * axis],
                                 pad.getPaddings()[2 * axis + 1]);
      if (longest != 0 && pad.getMode() != "constant") {
        conditions.push_back({getDim(op, kept ? longest + 1 : 1), dim,
                              "axis " + std::to_string(axis) +
                                  " to have the elements that are repeated"});
      }
    }
  }
  return conditions;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The permutation from channels first to channels last of `rank` axes: axis 1
/// moves to the end.
static SmallVector<int64_t> getChannelsToEnd(int64_t rank) {
  SmallVector<int64_t> permutation{0};
  llvm::append_range(permutation, llvm::seq<int64_t>(2, rank));
  permutation.push_back(1);
  return permutation;
}

/// Its inverse.
static SmallVector<int64_t> getChannelsToFront(int64_t rank) {
  SmallVector<int64_t> permutation{0, rank - 1};
  llvm::append_range(permutation, llvm::seq<int64_t>(1, rank - 1));
  return permutation;
}

namespace {

/// Channels and filters last, by permutations around the op.
template <typename OpT> struct PutChannelsLast : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    bool channelsLast = isChannelsLast(op.getInputLayout());
    bool filtersLast = isFiltersLast(op.getFilterLayout()) ||
                       op.getFilterLayout() == kReversedLayout;
    if (channelsLast && filtersLast) {
      return rewriter.notifyMatchFailure(op, "channels are last");
    }
    Location loc = op.getLoc();
    int64_t rank = cast<kvern::TensorType>(op.getType()).getRank();
    bool isVolume = rank == 5;
    NamedAttrList attributes(op->getAttrs());
    attributes.set(op.getInputLayoutAttrName(),
                   rewriter.getStringAttr(isVolume ? "NDHWC" : "NHWC"));
    if (!filtersLast) {
      attributes.set(op.getFilterLayoutAttrName(),
                     rewriter.getStringAttr(isVolume ? "QRSCF" : "RSCF"));
    } else {
      attributes.set(op.getFilterLayoutAttrName(), op.getFilterLayoutAttr());
    }
    SmallVector<Value> operands(op->getOperands());
    if (!channelsLast) {
      operands[0] =
          PermuteOp::create(rewriter, loc, operands[0], getChannelsToEnd(rank));
    }
    if (!filtersLast) {
      SmallVector<int64_t> permutation =
          llvm::to_vector(llvm::seq<int64_t>(2, rank));
      permutation.append({1, 0});
      operands[1] = PermuteOp::create(rewriter, loc, operands[1], permutation);
    }
    Value result = OpT::create(rewriter, loc, operands, attributes.getAttrs());
    if (!channelsLast) {
      result =
          PermuteOp::create(rewriter, loc, result, getChannelsToFront(rank));
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// A filter of one element is a matrix that all pixels are multiplied by.
template <typename OpT> struct MultiplyPixels : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<kvern::TensorType>(op.getType());
    auto filter = cast<kvern::TensorType>(op.getFilter().getType()).getShape();
    ArrayRef<DimAttr> kernel = filter.drop_back(2);
    auto isOne = [](auto value) { return value == 1; };
    auto isZero = [](int64_t value) { return value == 0; };
    if (!isChannelsLast(op.getInputLayout()) ||
        !isFiltersLast(op.getFilterLayout()) || op.getGroups() != 1 ||
        !llvm::all_of(kernel, [](DimAttr dim) { return dim.isStatic(1); }) ||
        !llvm::all_of(op.getStrides(), isOne) ||
        !llvm::all_of(op.getPaddings(), isZero)) {
      return rewriter.notifyMatchFailure(op, "reads neighbours of a pixel");
    }
    if (op.getBias() && isa<Float16Type, BFloat16Type>(type.getElementType())) {
      return rewriter.notifyMatchFailure(op, "would be rounded twice");
    }
    Location loc = op.getLoc();
    Value matrix =
        ReshapeOp::create(rewriter, loc, op.getFilter(),
                          ShapeAttr::get(op.getContext(), filter.take_back(2)));
    Value result = MatmulOp::create(rewriter, loc, op.getX(), matrix,
                                    /*transpose_rhs=*/false);
    if (op.getBias()) {
      result = AddOp::create(rewriter, loc, result, op.getBias());
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void Conv2dOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<PutChannelsLast<Conv2dOp>, MultiplyPixels<Conv2dOp>>(context);
}

void Conv3dOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<PutChannelsLast<Conv3dOp>, MultiplyPixels<Conv3dOp>>(context);
}

namespace {

/// The filter in the order in which a convolution of stride 1 reads it.
struct ReverseFilter : OpRewritePattern<Conv2dTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv2dTransposeOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFiltersLast(op.getFilterLayout())) {
      return rewriter.notifyMatchFailure(op, "filters are not last");
    }
    auto shape = cast<kvern::TensorType>(op.getFilter().getType()).getShape();
    MLIRContext *context = op.getContext();
    SmallVector<Attribute> starts, stops;
    SmallVector<int64_t> steps{-1, -1, 1, 1};
    for (auto [dim, step] : llvm::zip(shape, steps)) {
      DimAttr before = DimAttr::getStatic(context, step < 0 ? -1 : 0);
      starts.push_back(step < 0 ? dim + -1 : before);
      stops.push_back(step < 0 ? before : dim);
    }
    SmallVector<Attribute> inferred(4, rewriter.getUnitAttr());
    Location loc = op.getLoc();
    Value reversed = SliceOp::create(
        rewriter, loc, op.getFilter(), ValueRange(),
        rewriter.getArrayAttr(starts), rewriter.getArrayAttr(stops), steps,
        rewriter.getArrayAttr(inferred));
    Value filter = PermuteOp::create(rewriter, loc, reversed,
                                     ArrayRef<int64_t>{0, 1, 3, 2});
    rewriter.modifyOpInPlace(op, [&] {
      op.getFilterMutable().assign(filter);
      op.setFilterLayout(kReversedLayout);
    });
    return success();
  }
};

} // namespace

void Conv2dTransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  patterns.add<PutChannelsLast<Conv2dTransposeOp>, ReverseFilter>(context);
}
