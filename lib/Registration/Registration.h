// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a context and a pass pipeline of kvern may name.
#ifndef KVERN_LIB_REGISTRATION_REGISTRATION_H
#define KVERN_LIB_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvern {
/// Adds kvern, the upstream dialects it lowers through, their interface
/// implementations and their translations to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers kvern's passes and pipelines and the upstream passes they use, in
/// the process. A second call does nothing.
void registerPasses();
} // namespace kvern

#endif // KVERN_LIB_REGISTRATION_REGISTRATION_H
