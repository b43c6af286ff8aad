// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of lib/Transforms, declared from Passes.td.
#ifndef KVERN_LIB_TRANSFORMS_PASSES_H
#define KVERN_LIB_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace kvern {
#define GEN_PASS_DECL
#include "lib/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_PASSES_H
