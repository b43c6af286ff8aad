// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies that change which axis is contiguous.
#ifndef KVERN_LIB_CODEGEN_TRANSPOSELOOP_H
#define KVERN_LIB_CODEGEN_TRANSPOSELOOP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kvern {

/// Replaces a generic on buffers that only copies, and whose input and output
/// are contiguous along different loops, by loops that transpose squares in
/// registers of `vectorBits` bits. Tasks are runs of the output's last axis.
/// Fails, and leaves the op, when it is anything else.
mlir::LogicalResult emitTranspose(mlir::linalg::GenericOp op,
                                  int64_t vectorBits,
                                  mlir::RewriterBase &rewriter);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_TRANSPOSELOOP_H
