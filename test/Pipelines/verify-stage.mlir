// RUN: kvern-opt %s -kvern-verify-stage=stage=graph
// RUN: not kvern-opt %s -kvern-verify-stage=stage=kernels 2>&1 | FileCheck %s --check-prefix=KERNELS
// RUN: not kvern-opt %s -kvern-verify-stage=stage=target 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kvern-opt %s -kvern-verify-stage=stage=nothing 2>&1 | FileCheck %s --check-prefix=NOTHING

// KERNELS: 'kvern.exp' op is not allowed at the end of stage 'kernels'
// TARGET: is not allowed at the end of stage 'target'
// NOTHING: unknown stage 'nothing'
func.func @graph(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> {
  %0 = kvern.exp %x : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}
