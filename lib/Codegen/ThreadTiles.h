// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of a linalg.generic on buffers that threads may compute.
#ifndef KVERN_LIB_CODEGEN_THREADTILES_H
#define KVERN_LIB_CODEGEN_THREADTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kvern {

/// Puts a generic on buffers into an `scf.forall` over its parallel loops, the
/// one that walks the output element by element in long strips; reduced axes
/// stay whole. Returns the op in the loop: `op` itself when it is within a loop
/// already, only writes, or is too small to be worth a second thread.
mlir::linalg::GenericOp tileForThreads(mlir::linalg::GenericOp op,
                                       mlir::RewriterBase &rewriter);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_THREADTILES_H
