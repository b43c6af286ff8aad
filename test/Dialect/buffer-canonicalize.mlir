// RUN: kvern-opt %s -canonicalize -cse | FileCheck %s

!b = !kvern.buffer<[n], f32, cpu:0>
!x = !kvern.tensor<[n], f32, cpu:0>

// Loads between two stores are one; a load that nobody reads is none.
// CHECK-LABEL: func.func @order
func.func @order(%b: !b, %x: !x) -> (!x, !x, !x) {
  // CHECK-NEXT: %[[A:.*]] = kvern.buffer_load %arg0
  // CHECK-NEXT: kvern.buffer_store %arg0, %arg1
  // CHECK-NEXT: %[[B:.*]] = kvern.buffer_load %arg0
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %0 = kvern.buffer_load %b : (!b) -> !x
  %1 = kvern.buffer_load %b : (!b) -> !x
  kvern.buffer_store %b, %x : !b, !x
  %2 = kvern.buffer_load %b : (!b) -> !x
  %3 = kvern.buffer_load %b : (!b) -> !x
  return %0, %1, %2 : !x, !x, !x
}

// CHECK-LABEL: func.func @slices
func.func @slices(%b: !kvern.buffer<[4], f32, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>) {
  // CHECK-COUNT-2: kvern.buffer_store_slice
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], stops = [#kvern.dim<2>], steps = array<i64: 1>} : !kvern.buffer<[4], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<2>], stops = [#kvern.dim<4>], steps = array<i64: 1>} : !kvern.buffer<[4], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
  return
}
