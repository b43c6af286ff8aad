//===- Derived.cpp - Weights computed at load -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Derived.h"

#include "dialect/Inference.h"
#include "dialect/ops/Call.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Derived.cpp.inc"

void KvernDialect::registerDerivedOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Derived.cpp.inc"
      >();
}

LogicalResult DerivedWeightOp::verify() {
  ArrayRef<DimAttr> shape =
      cast<kvern::TensorType>(getResult().getType()).getShape();
  // derived_weight_c1
  if (!llvm::all_of(shape, [](DimAttr dim) { return dim.isStatic(); })) {
    return emitOpError("expected static sizes, but got ") << toString(shape);
  }
  return success();
}

LogicalResult
DerivedWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto initializer = symbols.lookupNearestSymbolFrom<func::FuncOp>(
      *this, getInitializerAttr());
  // derived_weight_c2
  if (!initializer) {
    return emitOpError("expected a function named @")
           << getInitializer() << ", but there is none";
  }
  auto results = inferCallResults(initializer, getWeights().getTypes(),
                                  /*given=*/{}, [&] { return emitOpError(); });
  if (failed(results)) {
    return failure();
  }
  // derived_weight_c3
  if (TypeRange(*results) != getOperation()->getResultTypes()) {
    return emitOpError("expected @")
           << getInitializer() << " to give " << getResult().getType()
           << ", but it gives " << *results;
  }
  return success();
}
