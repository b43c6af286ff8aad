//===- Parallel.cpp - Loops on the threads of a run -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Parallel.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Parallel.cpp.inc"

void KvernDialect::registerParallelOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Parallel.cpp.inc"
      >();
}

LogicalResult
HostParallelForOp::verifySymbolUses(SymbolTableCollection &table) {
  auto function =
      table.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getBodyAttr());
  // host_parallel_for_c1
  if (!function || function.getNumResults() != 0) {
    return emitOpError("expected '")
           << getBody() << "' to be a function without results";
  }
  // host_parallel_for_c2
  SmallVector<Type> expected(getCaptures().getTypes());
  Type index = IndexType::get(getContext());
  expected.append({index, index});
  if (TypeRange(function.getArgumentTypes()) != TypeRange(expected)) {
    return emitOpError("expected '")
           << getBody() << "' to take (" << expected << "), but it takes ("
           << function.getArgumentTypes() << ")";
  }
  return success();
}
