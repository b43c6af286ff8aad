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
