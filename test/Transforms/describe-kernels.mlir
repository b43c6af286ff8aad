// RUN: kvern-opt %s -kvern-describe-kernels | FileCheck %s

// 2 * d0 * 32 * 64 for the product, d0 * 32 for the activation.
// CHECK: func.func private @product
// CHECK-SAME: kvern.work = {bytes = #kvern.dim<d0 * 384 + 8192>, flops = #kvern.dim<d0 * 4128>, ops = ["kvern.matmul", "kvern.relu"]}
func.func private @product(%x: !kvern.tensor<[d0, 64], f32, cpu:0>, %w: !kvern.tensor<[64, 32], f32, cpu:0>) -> !kvern.tensor<[d0, 32], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.matmul %x, %w : (!kvern.tensor<[d0, 64], f32, cpu:0>, !kvern.tensor<[64, 32], f32, cpu:0>) -> !kvern.tensor<[d0, 32], f32, cpu:0>
  %1 = kvern.relu %0 : (!kvern.tensor<[d0, 32], f32, cpu:0>) -> !kvern.tensor<[d0, 32], f32, cpu:0>
  return %1 : !kvern.tensor<[d0, 32], f32, cpu:0>
}

// Only the rows that are gathered are read.
// CHECK: func.func private @rows
// CHECK-SAME: kvern.work = {bytes = #kvern.dim<d0 * 264>, flops = #kvern.dim<0>
func.func private @rows(%table: !kvern.tensor<[1000, 32], f32, cpu:0>, %at: !kvern.tensor<[d0], i64, cpu:0>) -> !kvern.tensor<[d0, 32], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.gather %table, %at {axis = 0 : i64} : (!kvern.tensor<[1000, 32], f32, cpu:0>, !kvern.tensor<[d0], i64, cpu:0>) -> !kvern.tensor<[d0, 32], f32, cpu:0>
  return %0 : !kvern.tensor<[d0, 32], f32, cpu:0>
}
