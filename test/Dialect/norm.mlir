// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s


!x = !kvern.tensor<[n, 64], bf16, cpu:0>
!w = !kvern.tensor<[64], bf16, cpu:0>

// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%arg0: [[X:.*]], %arg1: [[W:.*]]) {
func.func @rms_norm(%x: !x, %w: !w) {
  // CHECK: kvern.rms_norm %arg0, %arg1 {epsilon = 1.000000e-05 : f64} : ([[X]], [[W]]) -> [[X]]
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!x, !w) -> !x
  // CHECK: kvern.rms_norm %arg0, %arg1 {epsilon = 1.562500e-02 : f64, multiply_before_cast, weight_offset = 1.000000e+00 : f64} : ([[X]], [[W]]) -> [[X]]
  %1 = kvern.rms_norm %x, %w {epsilon = 0.015625 : f64, weight_offset = 1.0 : f64, multiply_before_cast} : (!x, !w) -> !x
  // CHECK: kvern.rms_norm %arg1, %arg1 {epsilon = 0.000000e+00 : f64} : ([[W]], [[W]]) -> [[W]]
  %2 = kvern.rms_norm %w, %w {epsilon = 0.0 : f64, weight_offset = 0.0 : f64} : (!w, !w) -> !w
  return
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%arg0: [[X:.*]], %arg1: [[W:.*]], %arg2: {{.*}}) {
func.func @layer_norm(%x: !x, %gamma: !w, %beta: !w) {
  // CHECK: kvern.layer_norm %arg0, %arg1, %arg2 {epsilon = 1.000000e-05 : f64} : ([[X]], [[W]], [[W]]) -> [[X]]
  %0 = kvern.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f64} : (!x, !w, !w) -> !x
  // CHECK: kvern.layer_norm %arg0, %arg1 {epsilon = 1.000000e-05 : f64} : ([[X]], [[W]]) -> [[X]]
  %1 = kvern.layer_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (!x, !w) -> !x
  return
}

// CHECK-LABEL: func.func @named
func.func @named(%x: !kvern.tensor<[0, d * 2], f64, cpu:0>, %w: !kvern.tensor<[d * 2], f64, cpu:0>) {
  // CHECK: kvern.rms_norm {{.*}} -> !kvern.tensor<[0, d * 2], f64, cpu:0>
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[0, d * 2], f64, cpu:0>, !kvern.tensor<[d + d], f64, cpu:0>) -> !kvern.tensor<[0, d * 2], f64, cpu:0>
  return
}
