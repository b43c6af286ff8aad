// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the passes between the stages `kernels` and `loops`.
#ifndef KVERN_LIB_PIPELINES_KERNELCODEGEN_H
#define KVERN_LIB_PIPELINES_KERNELCODEGEN_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace kvern {
struct CpuTarget;

/// Adds to a pipeline on modules what turns kernels on tensors into loops on
/// memrefs and vectors for `target`.
void addKernelCodegenPasses(mlir::OpPassManager &modulePM,
                            const CpuTarget &target);
} // namespace kvern

#endif // KVERN_LIB_PIPELINES_KERNELCODEGEN_H
