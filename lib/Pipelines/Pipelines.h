//===- Pipelines.h - The compiler's stages by name --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that orders passes.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_PIPELINES_PIPELINES_H
#define KVERN_LIB_PIPELINES_PIPELINES_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/Pass/PassManager.h"

namespace kvern {

/// The names of the stages that hold IR, in order: graph, optimized, kernels,
/// loops, target.
llvm::ArrayRef<llvm::StringRef> getStageNames();

/// Adds the passes that turn a staged graph into the form of `stage`. Fails on
/// an unknown name.
llvm::LogicalResult addStages(mlir::OpPassManager &pm, llvm::StringRef stage,
                              const CpuTarget &target);

/// Registers one pipeline a stage, `kvern-to-<stage>`, with the options `cpu`
/// and `features`.
void registerPipelines();

} // namespace kvern

#endif // KVERN_LIB_PIPELINES_PIPELINES_H
