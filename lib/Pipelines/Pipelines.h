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

/// Adds the passes of the stages from `first` to `last`, both included. Fails
/// on an unknown name.
llvm::LogicalResult addStages(mlir::OpPassManager &pm, llvm::StringRef first,
                              llvm::StringRef last, const CpuTarget &target);

/// The stages `loops` and `target` in three parts, between which kernels may be
/// taken out and put in (lib/Support/KernelModules.h). What the second makes of
/// a kernel depends on nothing but that kernel; after it, of the kernels only
/// their companions matter to the host program.
void addIsolationPasses(mlir::OpPassManager &pm);
void addKernelPasses(mlir::OpPassManager &pm, const CpuTarget &target);
void addProgramPasses(mlir::OpPassManager &pm, const CpuTarget &target);

/// Registers one pipeline a stage, `kvern-to-<stage>`, from a staged graph, and
/// `kvern-kernels-to-loops` and `-target`, from the form of `kernels`; with the
/// options `cpu` and `features`.
void registerPipelines();

} // namespace kvern

#endif // KVERN_LIB_PIPELINES_PIPELINES_H
