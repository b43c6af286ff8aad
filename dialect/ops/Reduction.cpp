//===- Reduction.cpp - Along one axis -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Reduction.h"

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Reduction.cpp.inc"

void KvernDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Reduction.cpp.inc"
      >();
}

static FailureOr<kvern::TensorType> checkOperand(InferError error, Value x,
                                                 int64_t axis) {
  auto types = getTensorTypes(error, x);
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank()))) {
    return failure();
  }
  return types->front();
}

LogicalResult kvern::inferReduction(std::optional<Location> location,
                                    StringRef opName, Value x, int64_t axis,
                                    SmallVectorImpl<Type> &results) {
  auto type = checkOperand({location, opName}, x, axis);
  if (failed(type)) {
    return failure();
  }
  SmallVector<DimAttr> shape(type->getShape());
  shape[axis] = DimAttr::getStatic(type->getContext(), 1);
  results.push_back(type->withShape(shape));
  return success();
}

LogicalResult kvern::inferArgReduction(std::optional<Location> location,
                                       StringRef opName, Value x, int64_t axis,
                                       SmallVectorImpl<Type> &results) {
  if (failed(inferReduction(location, opName, x, axis, results))) {
    return failure();
  }
  auto type = cast<kvern::TensorType>(results.back());
  // arg_reduction_c1
  if (cast<kvern::TensorType>(x.getType()).getShape()[axis].isStatic(0)) {
    return InferError(location, opName)(
        "expected an axis with at least one element, but got size 0 at axis ",
        axis);
  }
  results.back() =
      type.withElementType(IntegerType::get(type.getContext(), 64));
  return success();
}

LogicalResult kvern::inferSameShape(std::optional<Location> location,
                                    StringRef opName, Value x, int64_t axis,
                                    SmallVectorImpl<Type> &results) {
  auto type = checkOperand({location, opName}, x, axis);
  if (failed(type)) {
    return failure();
  }
  results.push_back(*type);
  return success();
}
