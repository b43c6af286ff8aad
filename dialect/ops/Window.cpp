//===- Window.cpp - What convolutions and pools have in common ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Window.h"

#include "dialect/ops/Convolution.h"
#include "dialect/ops/Pooling.h"

using namespace mlir;
using namespace kvern;

LogicalResult kvern::checkWindow(InferError error, const Window &window,
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

FailureOr<DimAttr> kvern::inferPositions(InferError error, const Window &window,
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
