//===- Check.cpp - Conditions known only at run time ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Check.cpp.inc"

void KvernDialect::registerCheckOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Check.cpp.inc"
      >();
}

LogicalResult CheckIndicesOp::verify() {
  for (Value value : getOperands()) {
    auto type = cast<kvern::TensorType>(value.getType());
    DimAttr count = getNumElements(getContext(), type.getShape());
    // check_indices_c1
    if (!type.getElementType().isSignlessInteger(64) || !count ||
        !count.isStatic(1)) {
      return emitOpError("expected i64 tensors of one element, but got ")
             << type;
    }
  }
  return success();
}

LogicalResult CheckSliceOp::verify() {
  size_t runtime = isa<UnitAttr>(getStart()) + isa<UnitAttr>(getStop());
  // check_slice_c1
  if (runtime != getBounds().size()) {
    return emitOpError("expected ")
           << runtime << " run-time bounds, but got " << getBounds().size();
  }
  for (Value bound : getBounds()) {
    // check_slice_c2
    if (cast<kvern::TensorType>(bound.getType()).getRank() != 0) {
      return emitOpError("expected run-time bounds to be scalars, but got ")
             << bound.getType();
    }
  }
  int64_t step = getStep();
  // check_slice_c3
  if (step == 0 || step == INT64_MIN) {
    return emitOpError("expected a step other than ") << step;
  }
  return success();
}
