//===- Norm.cpp - Normalization -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Norm.cpp.inc"

void KvernDialect::registerNormOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Norm.cpp.inc"
      >();
}

/// x of rank 1 or more; the others of rank 1, as long as its last axis.
static LogicalResult inferNorm(InferError error, ValueRange operands,
                               ArrayRef<StringRef> names,
                               SmallVectorImpl<Type> &results) {
  auto types = getUniformTypes(error, operands);
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> shape = types->front().getShape();
  // rms_norm_c2, layer_norm_c2
  if (shape.empty()) {
    return error("expected an operand of rank 1 or more, but got a scalar");
  }
  for (auto [name, type] : llvm::zip(names, ArrayRef(*types).drop_front())) {
    // rms_norm_c1, layer_norm_c1
    if (type.getRank() != 1 || type.getShape()[0] != shape.back()) {
      return error("expected ", name, " of shape [", shape.back().str(),
                   "], but got ", toString(type.getShape()));
    }
  }
  results.push_back(types->front());
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  return inferNorm({location, getOperationName()}, adaptor.getOperands(),
                   {"weight"}, results);
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return inferNorm({location, getOperationName()}, adaptor.getOperands(),
                   {"gamma", "beta"}, results);
}
