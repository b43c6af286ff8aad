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

// Each of the d0 * 4 * 4 * 20 sums has 3 * 3 * 8 products, whatever the panels have beyond filter 20.
// CHECK: func.func private @convolution
// CHECK-SAME: flops = #kvern.dim<d0 * 46080>, ops = ["kvern.packed_conv"]
func.func private @convolution(%x: !kvern.tensor<[d0, 6, 6, 8], f32, cpu:0>, %f: !kvern.tensor<[2, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[d0, 4, 4, 20], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 20 : i64} : (!kvern.tensor<[d0, 6, 6, 8], f32, cpu:0>, !kvern.tensor<[2, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[d0, 4, 4, 20], f32, cpu:0>
  return %0 : !kvern.tensor<[d0, 4, 4, 20], f32, cpu:0>
}
