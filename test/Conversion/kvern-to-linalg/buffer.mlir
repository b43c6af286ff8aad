// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// A load is a copy when the buffer may change before the kernel ends.

// CHECK-LABEL: @exchange(
// CHECK-SAME:    %[[B:[^ ]+]]: memref<?xf32>, %[[X:[^ ]+]]: memref<?xf32>, %[[OUT:[^ ]+]]: memref<?xf32>
// CHECK:         %[[T:.+]] = bufferization.to_tensor %[[B]] restrict
// CHECK:         %[[OLD:.+]] = bufferization.alloc_tensor() copy(%[[T]])
// CHECK:         bufferization.materialize_in_destination %{{.+}} in restrict writable %[[B]]
// CHECK:         bufferization.materialize_in_destination %[[OLD]] in restrict writable %[[OUT]]
func.func private @exchange(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.buffer_load %b : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  kvern.buffer_store %b, %x : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}

// CHECK-LABEL: @load(
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK:         return
func.func private @load(%b: !kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.buffer_load %b : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}

// CHECK-LABEL: @store_slice(
// CHECK:         %[[PART:.+]] = memref.subview %arg0[1, 2] [2, 3] [2, 1]
// CHECK:         bufferization.materialize_in_destination %{{.+}} in restrict writable %[[PART]]
func.func private @store_slice(%b: !kvern.buffer<[n, 5], f32, cpu:0>, %x: !kvern.tensor<[2, 3], f32, cpu:0>) attributes {kvern.kernel} {
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<1>, #kvern.dim<2>], stops = [#kvern.dim<5>, #kvern.dim<5>], steps = array<i64: 2, 1>} : !kvern.buffer<[n, 5], f32, cpu:0>, !kvern.tensor<[2, 3], f32, cpu:0>
  return
}

// Backwards: the source is reversed and stored forwards.

// CHECK-LABEL: @store_backward(
// CHECK:         %[[R:.+]] = linalg.generic
// CHECK:           arith.subi %{{.+}}, %{{.+}} : index
// CHECK:           tensor.extract
// CHECK:         %[[PART:.+]] = memref.subview %arg0[%{{.+}}] [%{{.+}}] [2]
// CHECK:         bufferization.materialize_in_destination %[[R]] in restrict writable %[[PART]]
func.func private @store_backward(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[n floordiv 2], f32, cpu:0>) attributes {kvern.kernel} {
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<n - 1>], stops = [#kvern.dim<0>], steps = array<i64: -2>} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[n floordiv 2], f32, cpu:0>
  return
}
