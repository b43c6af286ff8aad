// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @load
func.func @load(%b: !kvern.buffer<[pages, 16], bf16, gpu:0>) {
  // CHECK: kvern.buffer_load %arg0 : (!kvern.buffer<[pages, 16], bf16, gpu:0>) -> !kvern.tensor<[pages, 16], bf16, gpu:0>
  %0 = kvern.buffer_load %b : (!kvern.buffer<[pages, 16], bf16, gpu:0>) -> !kvern.tensor<[pages, 16], bf16, gpu:0>
  return
}

// CHECK-LABEL: func.func @store
func.func @store(%b: !kvern.buffer<[n, 4], f32, cpu:0>, %x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // CHECK: kvern.buffer_store %arg0, %arg1 : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>
  kvern.buffer_store %b, %x : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @store_slice
func.func @store_slice(%b: !kvern.buffer<[n, 4], f32, cpu:0>, %x: !kvern.tensor<[2, 2], f32, cpu:0>) {
  // CHECK: kvern.buffer_store_slice %arg0, %arg1 {starts = [#kvern.dim<0>, #kvern.dim<3>], steps = array<i64: 1, -2>, stops = [#kvern.dim<2>, #kvern.dim<-1>]} : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[2, 2], f32, cpu:0>
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>, #kvern.dim<3>], steps = array<i64: 1, -2>, stops = [#kvern.dim<2>, #kvern.dim<-1>]} : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[2, 2], f32, cpu:0>
  return
}

// The source names the size that run-time bounds give.
// CHECK-LABEL: func.func @store_runtime
func.func @store_runtime(%b: !kvern.buffer<[n, 4], f32, cpu:0>, %x: !kvern.tensor<[m, 4], f32, cpu:0>, %i: !kvern.tensor<[], i64, cpu:0>) {
  // CHECK: kvern.buffer_store_slice %arg0, %arg1, %arg2 {starts = [unit, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<n>, #kvern.dim<4>]} : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[m, 4], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>
  kvern.buffer_store_slice %b, %x, %i {starts = [unit, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<n>, #kvern.dim<4>]} : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[m, 4], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>
  return
}

// CHECK-LABEL: func.func @store_scalar
func.func @store_scalar(%b: !kvern.buffer<[], i1, cpu:0>, %x: !kvern.tensor<[], i1, cpu:0>) {
  // CHECK: kvern.buffer_store_slice %arg0, %arg1 {starts = [], steps = array<i64>, stops = []} : !kvern.buffer<[], i1, cpu:0>, !kvern.tensor<[], i1, cpu:0>
  kvern.buffer_store_slice %b, %x {starts = [], steps = array<i64>, stops = []} : !kvern.buffer<[], i1, cpu:0>, !kvern.tensor<[], i1, cpu:0>
  return
}
