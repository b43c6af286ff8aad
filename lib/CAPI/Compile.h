//===- Compile.h - C API of the compiler -------------------------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CAPI_COMPILE_H
#define KVERN_LIB_CAPI_COMPILE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What to compile for: `cpu` and `features` as of LLVM, or the cpu "host".
typedef struct KvernCompileOptions {
  MlirStringRef cpu;
  MlirStringRef features;
  /// The version of kvern, for the manifest.
  MlirStringRef version;
  /// What tells this build of the compiler from others.
  MlirStringRef build;
  /// Where compiled kernels are kept; empty: in the memory of the process only.
  MlirStringRef kernelFolder;
  /// Whether compiled kernels are looked for and kept at all.
  bool useCache;
} KvernCompileOptions;

/// What is told of a compilation; null where nobody asks.
typedef struct KvernCompileCallbacks {
  /// The result.
  MlirStringCallback onDone;
  /// The diagnostics of a failure.
  MlirStringCallback onError;
  /// When one kernel failed: its IR at the end of stage `kernels`.
  MlirStringCallback onReproducer;
  /// Where the time went, as JSON.
  MlirStringCallback onReport;
  /// How many parts are done, of how many, and the name of the last one. On any
  /// thread, one call at a time. False ends the compilation.
  bool (*onProgress)(intptr_t done, intptr_t total, MlirStringRef name,
                     void *userData);
  void *userData;
} KvernCompileCallbacks;

/// The names of the stages whose form can be printed, in order.
MLIR_CAPI_EXPORTED intptr_t kvernGetNumStages(void);
MLIR_CAPI_EXPORTED MlirStringRef kvernGetStageName(intptr_t index);

/// Compiles a module of graphs, which is left as it is, to the bytes of an
/// executable file.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvernCompile(MlirOperation module, KvernCompileOptions options,
             KvernCompileCallbacks callbacks);

/// Gives the text of the module after `stage`, or assembly for the stage
/// "binary". The module is left as it is.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvernPrintStage(MlirOperation module, MlirStringRef stage,
                KvernCompileOptions options, KvernCompileCallbacks callbacks);

/// Forgets the compiled kernels in the memory of the process.
MLIR_CAPI_EXPORTED void kvernClearKernels(void);

/// Calls `onDone` with the resolved processor: its name, a space, its features.
MLIR_CAPI_EXPORTED void kvernDescribeTarget(KvernCompileOptions options,
                                            MlirStringCallback onDone,
                                            void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVERN_LIB_CAPI_COMPILE_H
