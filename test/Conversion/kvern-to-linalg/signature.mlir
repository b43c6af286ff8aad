// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// Inputs, results, then the names in the order of their spelling: those of
// attributes too, at any depth.

// CHECK-LABEL: func.func private @arguments(
// CHECK-SAME:    %[[X:.+]]: memref<?x4xf32>, %[[B:.+]]: memref<?xi8>,
// CHECK-SAME:    %[[OUT0:.+]]: memref<?x4xf32>, %[[OUT1:.+]]: memref<2xi64>,
// CHECK-SAME:    %[[A:.+]]: index {kvern.symbol = "a"}, %[[D10:.+]]: index {kvern.symbol = "d10"},
// CHECK-SAME:    %[[D2:.+]]: index {kvern.symbol = "d2"})
// CHECK-SAME:    attributes {kvern.kernel}
// CHECK:         %[[T:.+]] = bufferization.to_tensor %[[X]] restrict : memref<?x4xf32> to tensor<?x4xf32>
// CHECK:         %[[R0:.+]] = linalg.generic {{.*}} ins(%[[T]] : tensor<?x4xf32>)
// CHECK:         arith.negf
// CHECK:         %[[R1:.+]] = tensor.from_elements
// CHECK:         bufferization.materialize_in_destination %[[R0]] in restrict writable %[[OUT0]]
// CHECK:         bufferization.materialize_in_destination %[[R1]] in restrict writable %[[OUT1]]
// CHECK:         return{{$}}
func.func private @arguments(%x: !kvern.tensor<[d2, 4], f32, cpu:0>, %b: !kvern.tensor<[d10], i1, cpu:0>) -> (!kvern.tensor<[d2, 4], f32, cpu:0>, !kvern.tensor<[2], i64, cpu:0>) attributes {kvern.kernel} {
  %0 = kvern.negate %x : (!kvern.tensor<[d2, 4], f32, cpu:0>) -> !kvern.tensor<[d2, 4], f32, cpu:0>
  %1 = kvern.shape_to_tensor {shape = #kvern.shape<[a, 8]>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], i64, cpu:0>
  return %0, %1 : !kvern.tensor<[d2, 4], f32, cpu:0>, !kvern.tensor<[2], i64, cpu:0>
}

// CHECK-LABEL: func.func private @pass_through(
// CHECK-SAME:    %[[X:.+]]: memref<i32>, %[[OUT:.+]]: memref<i32>)
// CHECK-NEXT:    %[[T:.+]] = bufferization.to_tensor %[[X]] restrict
// CHECK-NEXT:    bufferization.materialize_in_destination %[[T]] in restrict writable %[[OUT]]
// CHECK-NEXT:    return{{$}}
func.func private @pass_through(%x: !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[], ui32, cpu:0> attributes {kvern.kernel} {
  return %x : !kvern.tensor<[], ui32, cpu:0>
}

// A function that is not a kernel stays, and so do calls.
// CHECK-LABEL: func.func @graph(
// CHECK-SAME:    !kvern.tensor<[n], f32, cpu:0>
// CHECK:         kvern.negate
func.func @graph(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> {
  %0 = kvern.negate %x : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}
