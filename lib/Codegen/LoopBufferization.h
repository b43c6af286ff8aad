// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bufferization of the ops with loops inside.
#ifndef KVERN_LIB_CODEGEN_LOOPBUFFERIZATION_H
#define KVERN_LIB_CODEGEN_LOOPBUFFERIZATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvern {

/// Lets `kvern.loop` ops bufferize in place of what they write to.
void registerLoopBufferization(mlir::DialectRegistry &registry);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOOPBUFFERIZATION_H
