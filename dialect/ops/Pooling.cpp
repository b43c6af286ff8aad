//===- Pooling.cpp - Pools, and padding -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Pooling.h"

#include "dialect/ops/Window.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Pooling.cpp.inc"

void KvernDialect::registerPoolingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Pooling.cpp.inc"
      >();
}

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
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
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
