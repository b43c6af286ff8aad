//===- Dialect.cpp - Registration -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"
#include "dialect/ops/Attention.h"
#include "dialect/ops/Convolution.h"
#include "dialect/ops/Derived.h"
#include "dialect/ops/Packed.h"
#include "dialect/ops/Parallel.h"
#include "dialect/ops/Pooling.h"
#include "dialect/ops/Quant.h"
#include "dialect/ops/Trace.h"

using namespace mlir;
using namespace kvern;

#include "dialect/KvernDialect.cpp.inc"
#include "dialect/KvernInterfaces.cpp.inc"

void KvernDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerElementwiseOps();
  registerContractionOps();
  registerReductionOps();
  registerNormOps();
  registerShapeOps();
  registerIndexingOps();
  registerConstantOps();
  registerCallOps();
  registerBufferOps();
  registerCheckOps();
  registerHostOps();
  // Families with headers of their own.
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Packed.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Derived.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Attention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Convolution.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Pooling.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Quant.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Parallel.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Trace.cpp.inc"
      >();
}

Operation *KvernDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto tensor = dyn_cast<kvern::TensorType>(type);
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!tensor || !elements) {
    return nullptr;
  }
  return ConstantOp::create(builder, loc, type, elements, tensor.getDevice());
}
