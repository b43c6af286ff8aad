// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!x = !kvern.tensor<[n, 64], f32, cpu:0>

// CHECK-LABEL: func.func @reductions
// CHECK-SAME: (%arg0: [[X:.*]])
func.func @reductions(%x: !x) {
  // CHECK: kvern.sum %arg0 {axis = 1 : i64} : ([[X]]) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %0 = kvern.sum %x {axis = 1 : i64} : (!x) -> !kvern.tensor<[n, 1], f32, cpu:0>
  // CHECK: kvern.mean %arg0 {axis = 1 : i64} : ([[X]]) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %1 = kvern.mean %x {axis = 1 : i64} : (!x) -> !kvern.tensor<[n, 1], f32, cpu:0>
  // CHECK: kvern.prod %arg0 {axis = 1 : i64} : ([[X]]) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %2 = kvern.prod %x {axis = 1 : i64} : (!x) -> !kvern.tensor<[n, 1], f32, cpu:0>
  // CHECK: kvern.reduce_max %arg0 {axis = 1 : i64} : ([[X]]) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %3 = kvern.reduce_max %x {axis = 1 : i64} : (!x) -> !kvern.tensor<[n, 1], f32, cpu:0>
  // CHECK: kvern.reduce_min %arg0 {axis = 1 : i64} : ([[X]]) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %4 = kvern.reduce_min %x {axis = 1 : i64} : (!x) -> !kvern.tensor<[n, 1], f32, cpu:0>
  // CHECK: kvern.argmax %arg0 {axis = 0 : i64} : ([[X]]) -> !kvern.tensor<[1, 64], i64, cpu:0>
  %5 = kvern.argmax %x {axis = 0 : i64} : (!x) -> !kvern.tensor<[1, 64], i64, cpu:0>
  // CHECK: kvern.argmin %arg0 {axis = 0 : i64} : ([[X]]) -> !kvern.tensor<[1, 64], i64, cpu:0>
  %6 = kvern.argmin %x {axis = 0 : i64} : (!x) -> !kvern.tensor<[1, 64], i64, cpu:0>
  // CHECK: kvern.softmax %arg0 {axis = 1 : i64} : ([[X]]) -> [[X]]
  %7 = kvern.softmax %x {axis = 1 : i64} : (!x) -> !x
  // CHECK: kvern.logsoftmax %arg0 {axis = 1 : i64} : ([[X]]) -> [[X]]
  %8 = kvern.logsoftmax %x {axis = 1 : i64} : (!x) -> !x
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%u: !kvern.tensor<[1], ui8, cpu:0>, %empty: !kvern.tensor<[0, n * 2], bf16, cpu:0>) {
  // CHECK: kvern.argmax %arg0 {axis = 0 : i64} : (!kvern.tensor<[1], ui8, cpu:0>) -> !kvern.tensor<[1], i64, cpu:0>
  %0 = kvern.argmax %u {axis = 0 : i64} : (!kvern.tensor<[1], ui8, cpu:0>) -> !kvern.tensor<[1], i64, cpu:0>
  // CHECK: kvern.sum %arg1 {axis = 0 : i64} : (!kvern.tensor<[0, n * 2], bf16, cpu:0>) -> !kvern.tensor<[1, n * 2], bf16, cpu:0>
  %1 = kvern.sum %empty {axis = 0 : i64} : (!kvern.tensor<[0, n * 2], bf16, cpu:0>) -> !kvern.tensor<[1, n * 2], bf16, cpu:0>
  // CHECK: kvern.reduce_min %arg1 {axis = 1 : i64} : (!kvern.tensor<[0, n * 2], bf16, cpu:0>) -> !kvern.tensor<[0, 1], bf16, cpu:0>
  %2 = kvern.reduce_min %empty {axis = 1 : i64} : (!kvern.tensor<[0, n * 2], bf16, cpu:0>) -> !kvern.tensor<[0, 1], bf16, cpu:0>
  return
}
