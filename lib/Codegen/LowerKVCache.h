// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores of keys and values in pages, on buffers.
#ifndef KVERN_LIB_CODEGEN_LOWERKVCACHE_H
#define KVERN_LIB_CODEGEN_LOWERKVCACHE_H

#include "dialect/ops/KVCache.h"

namespace kvern {

/// Emits what `op` computes, before it, with registers of `vectorBits` bits.
void emitKVStore(LoopKVStoreOp op, mlir::OpBuilder &builder,
                 int64_t vectorBits);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOWERKVCACHE_H
