// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rotary positions on buffers.
#ifndef KVERN_LIB_CODEGEN_LOWERROPE_H
#define KVERN_LIB_CODEGEN_LOWERROPE_H

#include "dialect/ops/Attention.h"

namespace kvern {

/// Emits what `op` computes, before it, with registers of `vectorBits` bits.
void emitRope(LoopRopeOp op, mlir::OpBuilder &builder, int64_t vectorBits);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOWERROPE_H
