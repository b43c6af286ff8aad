//===- Check.cpp - Conditions known only at run time ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"

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
