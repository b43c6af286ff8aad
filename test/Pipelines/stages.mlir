// RUN: kvern-opt %s --kvern-stage=graph | FileCheck %s --check-prefix=GRAPH
// RUN: kvern-opt %s --kvern-stage=optimized | FileCheck %s --check-prefix=OPTIMIZED
// RUN: kvern-opt %s --kvern-stage=kernels | FileCheck %s --check-prefix=KERNELS
// RUN: kvern-opt %s --kvern-stage=loops | FileCheck %s --check-prefix=LOOPS
// RUN: kvern-opt %s --kvern-stage=target | FileCheck %s --check-prefix=TARGET
// RUN: kvern-opt %s --kvern-to-target=cpu=znver3 | FileCheck %s --check-prefix=TARGET
// RUN: not kvern-opt %s --kvern-stage=binary 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// GRAPH: kvern.exp
// OPTIMIZED: kvern.call @kernel_exp
// OPTIMIZED: func.func private @kernel_exp
// KERNELS: kvern.host.output
// KERNELS: call @kernel_exp
// KERNELS: linalg.generic
// LOOPS-NOT: : tensor<
// LOOPS: scf.for
// TARGET-NOT: func.func
// TARGET: llvm.func @graph_graph
// UNKNOWN: kvern-to-binary
func.func @graph(%x: !kvern.tensor<[n, 7], f32, cpu:0>) -> !kvern.tensor<[n, 7], f32, cpu:0> {
  %0 = kvern.exp %x : (!kvern.tensor<[n, 7], f32, cpu:0>) -> !kvern.tensor<[n, 7], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 7], f32, cpu:0>
}
