// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// CHECK-LABEL: @linear
func.func @linear(%x: !kvern.tensor<[batch, 64], f32, cpu:0>) -> !kvern.tensor<[batch, 32], f32, cpu:0> {
  // CHECK: kvern.weight {name = "weight"} : !kvern.tensor<[32, 64], f32, cpu:0>
  %w = kvern.weight {name = "weight"} : !kvern.tensor<[32, 64], f32, cpu:0>
  // CHECK: kvern.permute %{{.*}} {permutation = array<i64: 1, 0>} : (!kvern.tensor<[32, 64], f32, cpu:0>) -> !kvern.tensor<[64, 32], f32, cpu:0>
  %t = kvern.permute %w {permutation = array<i64: 1, 0>} : (!kvern.tensor<[32, 64], f32, cpu:0>) -> !kvern.tensor<[64, 32], f32, cpu:0>
  // CHECK: kvern.matmul
  %y = kvern.matmul %x, %t : (!kvern.tensor<[batch, 64], f32, cpu:0>, !kvern.tensor<[64, 32], f32, cpu:0>) -> !kvern.tensor<[batch, 32], f32, cpu:0>
  // CHECK: kvern.relu
  %z = kvern.relu %y : (!kvern.tensor<[batch, 32], f32, cpu:0>) -> !kvern.tensor<[batch, 32], f32, cpu:0>
  return %z : !kvern.tensor<[batch, 32], f32, cpu:0>
}
