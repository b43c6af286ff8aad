//===- Trace.cpp - Marks for profiling ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Trace.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Trace.cpp.inc"

void KvernDialect::registerTraceOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Trace.cpp.inc"
      >();
}
