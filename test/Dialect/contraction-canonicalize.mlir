// RUN: kvern-opt %s -canonicalize | FileCheck %s

// A transposed right operand is read as it is stored.
// CHECK-LABEL: func.func @absorb
func.func @absorb(%x: !kvern.tensor<[m, k], f32, cpu:0>, %w: !kvern.tensor<[n, k], f32, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0> {
  // CHECK-NEXT: kvern.matmul %arg0, %arg1 {transpose_rhs}
  %0 = kvern.permute %w {permutation = array<i64: 1, 0>} : (!kvern.tensor<[n, k], f32, cpu:0>) -> !kvern.tensor<[k, n], f32, cpu:0>
  %1 = kvern.matmul %x, %0 : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[k, n], f32, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return %1 : !kvern.tensor<[m, n], f32, cpu:0>
}

// CHECK-LABEL: func.func @absorb_twice
func.func @absorb_twice(%x: !kvern.tensor<[b, m, k], f32, cpu:0>, %w: !kvern.tensor<[b, k, n], f32, cpu:0>) -> !kvern.tensor<[b, m, n], f32, cpu:0> {
  // CHECK-NEXT: kvern.matmul %arg0, %arg1 : (!kvern.tensor<[b, m, k], f32, cpu:0>, !kvern.tensor<[b, k, n], f32, cpu:0>)
  %0 = kvern.permute %w {permutation = array<i64: 0, 2, 1>} : (!kvern.tensor<[b, k, n], f32, cpu:0>) -> !kvern.tensor<[b, n, k], f32, cpu:0>
  %1 = kvern.matmul %x, %0 {transpose_rhs} : (!kvern.tensor<[b, m, k], f32, cpu:0>, !kvern.tensor<[b, n, k], f32, cpu:0>) -> !kvern.tensor<[b, m, n], f32, cpu:0>
  return %1 : !kvern.tensor<[b, m, n], f32, cpu:0>
}

// A permute of other axes stays.
// CHECK-LABEL: func.func @other_axes
func.func @other_axes(%x: !kvern.tensor<[m, k], f32, cpu:0>, %w: !kvern.tensor<[n, b, k], f32, cpu:0>) -> !kvern.tensor<[b, m, n], f32, cpu:0> {
  // CHECK-NEXT: %[[W:.*]] = kvern.permute %arg1 {permutation = array<i64: 1, 2, 0>}
  // CHECK-NEXT: kvern.matmul %arg0, %[[W]] : (
  %0 = kvern.permute %w {permutation = array<i64: 1, 2, 0>} : (!kvern.tensor<[n, b, k], f32, cpu:0>) -> !kvern.tensor<[b, k, n], f32, cpu:0>
  %1 = kvern.matmul %x, %0 : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[b, k, n], f32, cpu:0>) -> !kvern.tensor<[b, m, n], f32, cpu:0>
  return %1 : !kvern.tensor<[b, m, n], f32, cpu:0>
}
