//===- KVCacheLoops.cpp - Stores with loops inside ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/KVCache.h"

using namespace mlir;
using namespace kvern;

void LoopKVStoreOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
  effects.emplace_back(MemoryEffects::Write::get(), &getBlocksMutable(),
                       SideEffects::DefaultResource::get());
  for (OpOperand &memory : getScalesMutable()) {
    effects.emplace_back(MemoryEffects::Write::get(), &memory,
                         SideEffects::DefaultResource::get());
  }
}

LogicalResult LoopKVStoreOp::verify() {
  auto blocks = cast<MemRefType>(getBlocks().getType());
  int64_t size = blocks.getRank() == 0 ? 0 : blocks.getShape().back();
  bool fit = blocks.getRank() == 6 && !ShapedType::isDynamic(size);
  for (Value rows : {getK(), getV(), getQ()}) {
    if (rows) {
      auto type = cast<ShapedType>(rows.getType());
      fit &= type.getRank() == 3 && type.getShape().back() == size;
    }
  }
  // loop_kv_store_c1
  if (!fit) {
    return emitOpError("expected rows of rank 3 and pages of rank 6 with equal "
                       "static last sizes, but got pages of ")
           << blocks;
  }
  // loop_kv_store_c2
  if (!getQ() != !getFreqs() || !getQ() != getInit().empty()) {
    return emitOpError("expected q, freqs and a result, or none of them");
  }
  return success();
}
