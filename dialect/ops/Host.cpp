//===- Host.cpp - Between the runtime and the kernels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Host.cpp.inc"

void KvernDialect::registerHostOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Host.cpp.inc"
      >();
}

/// As many sizes as the result has dynamic ones.
static LogicalResult verifySizes(Operation *op, ValueRange sizes, Type type) {
  int64_t count = cast<MemRefType>(type).getNumDynamicDims();
  // host_input_c1, host_output_c1
  if (count != static_cast<int64_t>(sizes.size())) {
    return op->emitOpError("expected ")
           << count << " sizes for " << type << ", but got " << sizes.size();
  }
  return success();
}

LogicalResult HostInputOp::verify() {
  return verifySizes(*this, getSizes(), getType());
}

LogicalResult HostOutputOp::verify() {
  return verifySizes(*this, getSizes(), getType());
}

LogicalResult HostWeightOp::verify() {
  // host_weight_c1
  if (!cast<MemRefType>(getType()).hasStaticShape()) {
    return emitOpError("expected static sizes, but got ") << getType();
  }
  return success();
}

LogicalResult HostCheckOp::verify() {
  constexpr size_t maxValues = 3;
  // host_check_c1
  if (getValues().size() > maxValues) {
    return emitOpError("expected at most ")
           << maxValues << " values, but got " << getValues().size();
  }
  return success();
}
