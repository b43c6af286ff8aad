//===- KVCache.h - Keys and values in pages --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_KVCACHE_H
#define KVERN_DIALECT_OPS_KVCACHE_H

#include "dialect/ops/Attention.h"

#define GET_OP_CLASSES
#include "dialect/ops/KVCache.h.inc"

namespace kvern {

/// Whether an op reads or writes memory through a cache.
inline bool isCacheOp(mlir::Operation *op) {
  return mlir::isa<KVStoreOp, RopeStoreOp, PagedAttentionOp, LatentAttentionOp>(
      op);
}

} // namespace kvern

#endif // KVERN_DIALECT_OPS_KVCACHE_H
