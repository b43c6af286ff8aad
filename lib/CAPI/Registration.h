// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C API: what a context and a pass pipeline of kvern may name.
#ifndef KVERN_LIB_CAPI_REGISTRATION_H
#define KVERN_LIB_CAPI_REGISTRATION_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds kvern and the upstream dialects it lowers through.
MLIR_CAPI_EXPORTED void kvernRegisterDialects(MlirDialectRegistry registry);

/// Registers the passes and pipelines of kvern and those they use, in the
/// process. A second call does nothing.
MLIR_CAPI_EXPORTED void kvernRegisterPasses(void);

#ifdef __cplusplus
}
#endif

#endif // KVERN_LIB_CAPI_REGISTRATION_H
