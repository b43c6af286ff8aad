// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func private @block
func.func private @block(!kvern.tensor<[d0, 64], f32, cpu:0>) -> !kvern.tensor<[d0, 64], f32, cpu:0>
func.func private @pair(!kvern.tensor<[a, b], f32, cpu:0>, !kvern.tensor<[b, a * 2], f32, cpu:0>, !kvern.buffer<[b], f32, cpu:0>) -> (!kvern.tensor<[a + b], f32, cpu:0>, !kvern.buffer<[b], f32, cpu:0>)
func.func private @nothing() -> !kvern.tensor<[n], f32, cpu:0>

// The callee's names stand for sizes of the caller.
// CHECK-LABEL: func.func @caller
func.func @caller(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %y: !kvern.tensor<[4, 64], f32, cpu:0>, %z: !kvern.tensor<[64, 8], f32, cpu:0>, %w: !kvern.tensor<[64, n * 2], f32, cpu:0>, %buffer: !kvern.buffer<[64], f32, cpu:0>) {
  // CHECK: kvern.call @block(%arg0) : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  %0 = kvern.call @block(%x) : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  // CHECK: kvern.call @block(%arg1) {prefix = "layers.0."} : (!kvern.tensor<[4, 64], f32, cpu:0>) -> !kvern.tensor<[4, 64], f32, cpu:0>
  %1 = kvern.call @block(%y) {prefix = "layers.0."} : (!kvern.tensor<[4, 64], f32, cpu:0>) -> !kvern.tensor<[4, 64], f32, cpu:0>
  // CHECK: kvern.call @pair(%arg1, %arg2, %arg4) : {{.*}} -> (!kvern.tensor<[68], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>)
  %2:2 = kvern.call @pair(%y, %z, %buffer) : (!kvern.tensor<[4, 64], f32, cpu:0>, !kvern.tensor<[64, 8], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>) -> (!kvern.tensor<[68], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>)
  // CHECK: kvern.call @pair(%arg0, %arg3, %arg4) {dims = {a = #kvern.dim<n>}} : {{.*}} -> (!kvern.tensor<[n + 64], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>)
  %3:2 = kvern.call @pair(%x, %w, %buffer) {dims = {a = #kvern.dim<n>}} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64, n * 2], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>) -> (!kvern.tensor<[n + 64], f32, cpu:0>, !kvern.buffer<[64], f32, cpu:0>)
  // CHECK: kvern.call @nothing() {dims = {n = #kvern.dim<m * 2>}} : () -> !kvern.tensor<[m * 2], f32, cpu:0>
  %4 = kvern.call @nothing() {dims = {n = #kvern.dim<m * 2>}} : () -> !kvern.tensor<[m * 2], f32, cpu:0>
  // CHECK: kvern.call @nothing() : () -> !kvern.tensor<[n], f32, cpu:0>
  %5 = kvern.call @nothing() : () -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// A kernel that has been lowered takes memory.
// CHECK-LABEL: func.func private @kernel
func.func private @kernel(memref<4xf32>) attributes {kvern.kernel}
// CHECK-LABEL: func.func @program
func.func @program(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // CHECK: kvern.call @kernel(%arg0) : (!kvern.tensor<[4], f32, cpu:0>) -> ()
  kvern.call @kernel(%x) : (!kvern.tensor<[4], f32, cpu:0>) -> ()
  return
}
