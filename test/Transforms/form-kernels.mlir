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

// CHECK: func.func private @kernel_matmul_relu(%arg0: !kvern.tensor<[d0, 8], f32, cpu:0>
// CHECK-SAME: attributes {kvern.kernel}
// CHECK-NEXT: kvern.matmul
// CHECK-NEXT: kvern.relu
