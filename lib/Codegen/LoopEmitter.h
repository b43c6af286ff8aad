// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops for a linalg.generic on buffers.
#ifndef KVERN_LIB_CODEGEN_LOOPEMITTER_H
#define KVERN_LIB_CODEGEN_LOOPEMITTER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kvern {

/// Replaces a generic on buffers by `scf.for` loops. The innermost is the one
/// along which most operands are contiguous, in vectors of `vectorBits` where
/// VectorLoop.h can; with 0, element by element. Reductions along the innermost
/// loops are carried in registers.
void emitLoops(mlir::linalg::GenericOp op, int64_t vectorBits,
               mlir::RewriterBase &rewriter);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOOPEMITTER_H
