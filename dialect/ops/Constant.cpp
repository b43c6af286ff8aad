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

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  // constant_c1
  if (!type || !type.hasStaticShape() || type.getEncoding()) {
    return error("expected a value of a plain tensor type of static shape, but "
                 "got ",
                 adaptor.getValue().getType());
  }
  // constant_c2
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(adaptor.getValue())) {
    return error("expected a value that is dense or a dense_resource");
  }
  SmallVector<DimAttr> shape;
  for (int64_t size : type.getShape()) {
    shape.push_back(DimAttr::getStatic(context, size));
  }
  // constant_c3
  return addResult(error, shape, type.getElementType(), adaptor.getDevice(),
                   results);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult RangeOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  Type type = adaptor.getStart().getType();
  // range_c1
  if (type != adaptor.getStep().getType()) {
    return error("expected start and step of one type, but got ", type, " and ",
                 adaptor.getStep().getType());
  }
  // range_c2
  if (!isa<FloatAttr, IntegerAttr>(adaptor.getStart()) ||
      !isa<FloatAttr, IntegerAttr>(adaptor.getStep()) || type.isInteger(1)) {
    return error("expected start and step to be numbers, but got ", type);
  }
  // range_c3
  return addResult(error, adaptor.getSize(), type, adaptor.getDevice(),
                   results);
}

LogicalResult WeightOp::verify() {
  // weight_c1
  if (getName().empty()) {
    return emitOpError("expected a name that is not empty");
  }
  for (DimAttr dim : cast<kvern::TensorType>(getType()).getShape()) {
    // weight_c2
    if (!dim.isStatic()) {
      return emitOpError("expected weight ")
             << getName() << " to have static sizes, but got " << dim.str();
    }
  }
  return success();
}
