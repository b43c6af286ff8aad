//===- Constant.cpp - Values known before the run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Constant.cpp.inc"

void KvernDialect::registerConstantOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Constant.cpp.inc"
      >();
}

LogicalResult
ConstantOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                             Adaptor adaptor, SmallVectorImpl<Type> &results) {
  ShapedType type = adaptor.getValue().getShapedType();
  SmallVector<DimAttr> shape;
  for (int64_t size : type.getShape()) {
    shape.push_back(DimAttr::getStatic(context, size));
  }
  auto result = kvern::TensorType::getChecked(
      [&] {
        return mlir::emitError(loc.value_or(UnknownLoc::get(context)))
               << "'" << getOperationName() << "' op ";
      },
      context, ArrayRef<DimAttr>(shape), type.getElementType(),
      adaptor.getDevice());
  if (!result) {
    return failure();
  }
  results.push_back(result);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult
RangeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                          Adaptor adaptor, SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  Type type = adaptor.getStart().getType();
  if (type != adaptor.getStep().getType()) {
    return error("expected start and step of one type, but got ", type,
                 " and ", adaptor.getStep().getType());
  }
  if (!isa<FloatType, IntegerType>(type) || type.isInteger(1)) {
    return error("expected start and step to be numbers, but got ", type);
  }
  auto result = kvern::TensorType::getChecked(
      [&] {
        return mlir::emitError(loc.value_or(UnknownLoc::get(context)))
               << "'" << getOperationName() << "' op ";
      },
      context, ArrayRef<DimAttr>(adaptor.getSize()), type,
      adaptor.getDevice());
  if (!result) {
    return failure();
  }
  results.push_back(result);
  return success();
}

LogicalResult WeightOp::verify() {
  if (getName().empty()) {
    return emitOpError("expected a name that is not empty");
  }
  for (DimAttr dim : cast<kvern::TensorType>(getType()).getShape()) {
    if (!dim.isStatic()) {
      return emitOpError("expected weight ")
             << getName() << " to have static sizes, but got " << dim.str();
    }
  }
  return success();
}
