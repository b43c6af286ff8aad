// RUN: kvern-opt %s -kvern-form-kernels | FileCheck %s

// One kernel: the root and the elementwise ops on its result. The second layer is
// the same but for the name of its dimension, so it is the same function.

// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%x: !kvern.tensor<[batch, 8], f32, cpu:0>, %y: !kvern.tensor<[seq, 8], f32, cpu:0>) -> (!kvern.tensor<[batch, 8], f32, cpu:0>, !kvern.tensor<[seq, 8], f32, cpu:0>) {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[8, 8], f32, cpu:0>
  // CHECK: %[[W:.*]] = kvern.weight
  // CHECK-NEXT: kvern.call @kernel_matmul_relu(%arg0, %[[W]]) {dims = {d0 = #kvern.dim<batch>}}
  %0 = kvern.matmul %x, %w : (!kvern.tensor<[batch, 8], f32, cpu:0>, !kvern.tensor<[8, 8], f32, cpu:0>) -> !kvern.tensor<[batch, 8], f32, cpu:0>
  %1 = kvern.relu %0 : (!kvern.tensor<[batch, 8], f32, cpu:0>) -> !kvern.tensor<[batch, 8], f32, cpu:0>
  // CHECK-NEXT: kvern.call @kernel_matmul_relu(%arg1, %[[W]]) {dims = {d0 = #kvern.dim<seq>}}
  %2 = kvern.matmul %y, %w : (!kvern.tensor<[seq, 8], f32, cpu:0>, !kvern.tensor<[8, 8], f32, cpu:0>) -> !kvern.tensor<[seq, 8], f32, cpu:0>
  %3 = kvern.relu %2 : (!kvern.tensor<[seq, 8], f32, cpu:0>) -> !kvern.tensor<[seq, 8], f32, cpu:0>
  // CHECK-NEXT: return
  return %1, %3 : !kvern.tensor<[batch, 8], f32, cpu:0>, !kvern.tensor<[seq, 8], f32, cpu:0>
}

// Producers join a reduction, and a value with two readers stays in memory.
// CHECK-LABEL: func.func @producers
func.func @producers(%x: !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0> {
  // CHECK: %[[E:.*]] = kvern.call @kernel_exp(%arg0)
  // CHECK: %[[S:.*]] = kvern.call @kernel_mul_softmax(%[[E]])
  // CHECK: %[[T:.*]] = kvern.call @kernel_sum(%[[S]])
  // CHECK: kvern.call @kernel_add(%[[E]], %[[T]])
  %0 = kvern.exp %x : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  %1 = kvern.mul %0, %0 : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  %2 = kvern.softmax %1 {axis = 1 : i64} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  %3 = kvern.sum %2 {axis = 1 : i64} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %4 = kvern.add %0, %3 : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return %4 : !kvern.tensor<[n, 8], f32, cpu:0>
}

// Small constants go into the kernel; views stay out.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: !kvern.tensor<[n, 2], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0> {
  // CHECK-NEXT: %[[R:.*]] = kvern.call @kernel_add_{{[0-9]+}}(%arg0)
  // CHECK-NEXT: kvern.reshape %[[R]]
  %c = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], f32, cpu:0>
  %0 = kvern.add %x, %c : (!kvern.tensor<[n, 2], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[n, 2], f32, cpu:0>
  %1 = kvern.reshape %0 {shape = #kvern.shape<[n * 2]>} : (!kvern.tensor<[n, 2], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
  return %1 : !kvern.tensor<[n * 2], f32, cpu:0>
}

// Products of one operand whose results meet: one kernel.
// CHECK-LABEL: func.func @twins
func.func @twins(%x: !kvern.tensor<[n, 8], f32, cpu:0>, %a: !kvern.tensor<[8, 4], f32, cpu:0>, %b: !kvern.tensor<[8, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0> {
  // CHECK-NEXT: kvern.call @kernel_matmul_matmul_silu_mul(%arg0, %arg1, %arg2)
  // CHECK-NEXT: return
  %0 = kvern.matmul %x, %a : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[8, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  %1 = kvern.matmul %x, %b : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[8, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  %2 = kvern.silu %0 : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  %3 = kvern.mul %2, %1 : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  return %3 : !kvern.tensor<[n, 4], f32, cpu:0>
}

// A sum that is normalized is a second result; its other readers come later.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: !kvern.tensor<[n, 8], f32, cpu:0>, %y: !kvern.tensor<[n, 8], f32, cpu:0>, %w: !kvern.tensor<[8], f32, cpu:0>) -> (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 8], f32, cpu:0>) {
  // CHECK-NEXT: %[[BOTH:.*]]:2 = kvern.call @kernel_add_rms_norm(%arg0, %arg1, %arg2)
  // CHECK-NEXT: %[[E:.*]] = kvern.call @kernel_exp{{.*}}(%[[BOTH]]#1)
  // CHECK-NEXT: return %[[E]], %[[BOTH]]#0
  %0 = kvern.add %x, %y : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  %1 = kvern.exp %0 : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  %2 = kvern.rms_norm %0, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return %1, %2 : !kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 8], f32, cpu:0>
}

// Not when what else reads the sum is an operand of the norm.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: !kvern.tensor<[8], f32, cpu:0>, %y: !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0> {
  // CHECK-NEXT: kvern.call @kernel_add{{.*}}(%arg0, %arg1)
  // CHECK-NEXT: kvern.call @kernel_exp{{.*}}
  // CHECK-NEXT: kvern.call @kernel_rms_norm{{.*}}
  %0 = kvern.add %x, %y : (!kvern.tensor<[8], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
  %1 = kvern.exp %0 : (!kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
  %2 = kvern.rms_norm %0, %1 {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[8], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
  return %2 : !kvern.tensor<[8], f32, cpu:0>
}

// CHECK: func.func private @kernel_matmul_relu(%arg0: !kvern.tensor<[d0, 8], f32, cpu:0>
// CHECK-SAME: attributes {kvern.kernel}
// CHECK-NEXT: kvern.matmul
// CHECK-NEXT: kvern.relu
