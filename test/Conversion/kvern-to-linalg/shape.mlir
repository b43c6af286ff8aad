// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// Groups of axes are as small as can be.

// CHECK-LABEL: @reshape(
// CHECK:         %[[C:.+]] = tensor.collapse_shape %{{.+}} {{\[}}[0, 1], [2]] : tensor<?x8x6xf32> into tensor<?x6xf32>
// CHECK:         tensor.expand_shape %[[C]] {{\[}}[0], [1, 2]] output_shape [%{{.+}}, 2, 3] : tensor<?x6xf32> into tensor<?x2x3xf32>
func.func private @reshape(%x: !kvern.tensor<[n, 8, 6], f32, cpu:0>) -> !kvern.tensor<[n * 8, 2, 3], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.reshape %x {shape = #kvern.shape<[n * 8, 2, 3]>} : (!kvern.tensor<[n, 8, 6], f32, cpu:0>) -> !kvern.tensor<[n * 8, 2, 3], f32, cpu:0>
  return %0 : !kvern.tensor<[n * 8, 2, 3], f32, cpu:0>
}

// Two sizes from one that are known only at run time: a copy.

// CHECK-LABEL: @split_axis(
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic
// CHECK:           arith.muli
// CHECK:           arith.addi
// CHECK:           tensor.extract %{{.+}}[%{{.+}}] : tensor<?xf32>
func.func private @split_axis(%x: !kvern.tensor<[n * m], f32, cpu:0>) -> !kvern.tensor<[n, m], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.reshape %x {shape = #kvern.shape<[n, m]>} : (!kvern.tensor<[n * m], f32, cpu:0>) -> !kvern.tensor<[n, m], f32, cpu:0>
  return %0 : !kvern.tensor<[n, m], f32, cpu:0>
}

// CHECK-LABEL: @scalar(
// CHECK:         tensor.collapse_shape %{{.+}} [] : tensor<1x1xf32> into tensor<f32>
func.func private @scalar(%x: !kvern.tensor<[1, 1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.reshape %x {shape = #kvern.shape<[]>} : (!kvern.tensor<[1, 1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return %0 : !kvern.tensor<[], f32, cpu:0>
}

// CHECK-LABEL: @rebind(
// CHECK:         tensor.cast %{{.+}} : tensor<?x?xf32> to tensor<?x4xf32>
func.func private @rebind(%x: !kvern.tensor<[n, m], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.rebind %x {shape = #kvern.shape<[n, 4]>, message = ""} : (!kvern.tensor<[n, m], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 4], f32, cpu:0>
}

// Each operand is written into its part of one tensor.

// CHECK-LABEL: @concat(
// CHECK-DAG:     %[[X:.+]] = bufferization.to_tensor %arg0
// CHECK-DAG:     %[[Y:.+]] = bufferization.to_tensor %arg1
// CHECK:         %[[E:.+]] = tensor.empty(%{{.+}}, %{{.+}}) : tensor<?x?xf32>
// CHECK:         %[[P0:.+]] = tensor.extract_slice %[[E]][0, 0] [%{{.+}}, 3] [1, 1]
// CHECK:         %[[C0:.+]] = linalg.generic {{.*}} ins(%[[X]] {{.*}} outs(%[[P0]]
// CHECK:         %[[R0:.+]] = tensor.insert_slice %[[C0]] into %[[E]][0, 0]
// CHECK:         %[[P1:.+]] = tensor.extract_slice %[[R0]][0, 3] [%{{.+}}, %{{.+}}] [1, 1]
// CHECK:         %[[C1:.+]] = linalg.generic {{.*}} ins(%[[Y]] {{.*}} outs(%[[P1]]
// CHECK:         tensor.insert_slice %[[C1]] into %[[R0]][0, 3]
func.func private @concat(%x: !kvern.tensor<[n, 3], f32, cpu:0>, %y: !kvern.tensor<[n, m], f32, cpu:0>) -> !kvern.tensor<[n, m + 3], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.concat %x, %y {axis = 1 : i64} : (!kvern.tensor<[n, 3], f32, cpu:0>, !kvern.tensor<[n, m], f32, cpu:0>) -> !kvern.tensor<[n, m + 3], f32, cpu:0>
  return %0 : !kvern.tensor<[n, m + 3], f32, cpu:0>
}

// CHECK-LABEL: @stack(
// CHECK:         tensor.extract_slice %{{.+}}[0, 0] [%{{.+}}, 1] [1, 1] : tensor<?x2xf32> to tensor<?xf32>
// CHECK:         tensor.insert_slice
// CHECK:         tensor.extract_slice %{{.+}}[0, 1] [%{{.+}}, 1] [1, 1] : tensor<?x2xf32> to tensor<?xf32>
// CHECK:         tensor.insert_slice
func.func private @stack(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n, 2], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.stack %x, %y {axis = 1 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n, 2], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 2], f32, cpu:0>
}
