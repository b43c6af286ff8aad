// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s


// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: !kvern.tensor<[b, m, 64], bf16, cpu:0>, %w: !kvern.tensor<[64, 32], bf16, cpu:0>) -> !kvern.tensor<[b, m, 32], bf16, cpu:0> {
  // CHECK: kvern.matmul %arg0, %arg1 : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[64, 32], bf16, cpu:0>) -> !kvern.tensor<[b, m, 32], bf16, cpu:0>
  %0 = kvern.matmul %x, %w : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[64, 32], bf16, cpu:0>) -> !kvern.tensor<[b, m, 32], bf16, cpu:0>
  return %0 : !kvern.tensor<[b, m, 32], bf16, cpu:0>
}

// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: !kvern.tensor<[m, k * 2], i8, cpu:0>, %w: !kvern.tensor<[n, 2 * k], i8, cpu:0>) -> !kvern.tensor<[m, n], i8, cpu:0> {
  // CHECK: kvern.matmul %arg0, %arg1 {transpose_rhs} : (!kvern.tensor<[m, k * 2], i8, cpu:0>, !kvern.tensor<[n, k * 2], i8, cpu:0>) -> !kvern.tensor<[m, n], i8, cpu:0>
  %0 = kvern.matmul %x, %w {transpose_rhs} : (!kvern.tensor<[m, k * 2], i8, cpu:0>, !kvern.tensor<[n, k * 2], i8, cpu:0>) -> !kvern.tensor<[m, n], i8, cpu:0>
  return %0 : !kvern.tensor<[m, n], i8, cpu:0>
}

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: !kvern.tensor<[heads, 1, m, 0], f64, cpu:0>, %y: !kvern.tensor<[b, 0, 1], f64, cpu:0>) -> !kvern.tensor<[heads, b, m, 1], f64, cpu:0> {
  // CHECK: kvern.matmul %arg0, %arg1 : {{.*}} -> !kvern.tensor<[heads, b, m, 1], f64, cpu:0>
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[heads, 1, m, 0], f64, cpu:0>, !kvern.tensor<[b, 0, 1], f64, cpu:0>) -> !kvern.tensor<[heads, b, m, 1], f64, cpu:0>
  return %0 : !kvern.tensor<[heads, b, m, 1], f64, cpu:0>
}
