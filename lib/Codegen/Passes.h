// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of lib/Codegen, declared from Passes.td.
#ifndef KVERN_LIB_CODEGEN_PASSES_H
#define KVERN_LIB_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace kvern {
#define GEN_PASS_DECL
#include "lib/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PASSES_H
