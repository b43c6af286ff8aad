//===- Dialect.cpp - Registration -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"

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
  registerPackedOps();
  registerDerivedOps();
  registerAttentionOps();
  registerKVCacheOps();
  registerSamplingOps();
  registerConvolutionOps();
  registerPoolingOps();
  registerQuantOps();
  registerParallelOps();
  registerTraceOps();
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
