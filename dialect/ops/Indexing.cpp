//===- Indexing.cpp - Elements by index -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Indexing.cpp.inc"

void KvernDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Indexing.cpp.inc"
      >();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank()))) {
    return failure();
  }
  ArrayRef<DimAttr> shape = types->front().getShape();
  SmallVector<DimAttr> result(shape.take_front(axis));
  llvm::append_range(result, types->back().getShape());
  llvm::append_range(result, shape.drop_front(axis + 1));
  return addResult(error, types->front(), result, results);
}
