//===- Convolution.cpp - Convolutions -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Convolution.h"

#include "dialect/ops/Window.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Convolution.cpp.inc"

void KvernDialect::registerConvolutionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Convolution.cpp.inc"
      >();
}

bool kvern::isChannelsLast(StringRef inputLayout) {
  return inputLayout.ends_with("C");
}

bool kvern::isFiltersLast(StringRef filterLayout) {
  return filterLayout.ends_with("F");
}

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
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
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
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
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
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
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
