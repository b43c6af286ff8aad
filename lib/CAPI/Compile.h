//===- Compile.h - C API of the compiler ---------------------------*- C
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CAPI_COMPILE_H
#define KVERN_LIB_CAPI_COMPILE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What to compile for: `cpu` and `features` as of LLVM, or the cpu "host".
typedef struct KvernCompileOptions {
  MlirStringRef cpu;
  MlirStringRef features;
  /// The version of kvern, for the manifest.
  MlirStringRef version;
} KvernCompileOptions;

/// The names of the stages whose form can be printed, in order.
MLIR_CAPI_EXPORTED intptr_t kvernGetNumStages(void);
MLIR_CAPI_EXPORTED MlirStringRef kvernGetStageName(intptr_t index);

/// Compiles a module of graphs, which is left as it is, to an executable file.
/// Calls `onDone` with its bytes, or `onError` with the diagnostics.
MLIR_CAPI_EXPORTED MlirLogicalResult kvernCompile(MlirOperation module,
                                                  KvernCompileOptions options,
                                                  MlirStringCallback onDone,
                                                  MlirStringCallback onError,
                                                  void *userData);

/// Calls `onDone` with the text of the module after `stage`, or with assembly
/// for the stage "binary". The module is left as it is. On failure calls
/// `onError` with the diagnostics.
MLIR_CAPI_EXPORTED MlirLogicalResult kvernPrintStage(
    MlirOperation module, MlirStringRef stage, KvernCompileOptions options,
    MlirStringCallback onDone, MlirStringCallback onError, void *userData);

/// Calls `onDone` with the resolved processor: its name, a space, its features.
MLIR_CAPI_EXPORTED void kvernDescribeTarget(KvernCompileOptions options,
                                            MlirStringCallback onDone,
                                            void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVERN_LIB_CAPI_COMPILE_H
