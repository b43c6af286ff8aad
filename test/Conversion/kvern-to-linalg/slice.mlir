// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// CHECK-LABEL: @forward(
// CHECK:         tensor.extract_slice %{{.+}}[1, 0] [%{{.+}}, 2] [2, 3] : tensor<?x6xf32> to tensor<?x2xf32>
func.func private @forward(%x: !kvern.tensor<[n, 6], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2, 2], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.slice %x {starts = [#kvern.dim<1>, #kvern.dim<0>], stops = [#kvern.dim<n>, #kvern.dim<6>], steps = array<i64: 2, 3>, out_dims = [unit, unit]} : (!kvern.tensor<[n, 6], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2, 2], f32, cpu:0>
  return %0 : !kvern.tensor<[n floordiv 2, 2], f32, cpu:0>
}

// CHECK-LABEL: @backward(
// CHECK-SAME:    %[[N:[^ ]+]]: index {kvern.symbol = "n"})
// CHECK:         %[[LAST:.+]] = arith.addi %[[N]], %c-1
// CHECK:         linalg.generic
// CHECK:           %[[I:.+]] = linalg.index 0
// CHECK:           %[[STEP:.+]] = arith.muli %[[I]], %c-1
// CHECK:           %[[AT:.+]] = arith.addi %[[LAST]], %[[STEP]]
// CHECK:           tensor.extract %{{.+}}[%[[AT]]] : tensor<?xf32>
func.func private @backward(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.slice %x {starts = [#kvern.dim<n - 1>], stops = [#kvern.dim<-1>], steps = array<i64: -1>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}

// A run-time start below 0 counts from the end and is clamped; the size is
// that of the result's name.

// CHECK-LABEL: @runtime(
// CHECK-SAME:    %[[M:[^ ]+]]: index {kvern.symbol = "m"}, %[[N:[^ ]+]]: index {kvern.symbol = "n"})
// CHECK:         %[[B:.+]] = tensor.extract %{{.+}}[] : tensor<i32>
// CHECK:         %[[V:.+]] = arith.index_cast %[[B]] : i32 to index
// CHECK:         %[[NEGATIVE:.+]] = arith.cmpi slt, %[[V]], %c0
// CHECK:         %[[END:.+]] = arith.addi %[[V]], %[[N]]
// CHECK:         %[[W:.+]] = arith.select %[[NEGATIVE]], %[[END]], %[[V]]
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[W]], %c0
// CHECK:         %[[START:.+]] = arith.minsi %[[LOW]], %[[N]]
// CHECK:         tensor.extract_slice %{{.+}}[%[[START]]] [%[[M]]] [1]
func.func private @runtime(%x: !kvern.tensor<[n], f32, cpu:0>, %a: !kvern.tensor<[], i32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.slice %x, %a {starts = [unit], stops = [#kvern.dim<n>], steps = array<i64: 1>, out_dims = [#kvern.dim<m>]} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[], i32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return %0 : !kvern.tensor<[m], f32, cpu:0>
}

// CHECK-LABEL: @split(
// CHECK:         tensor.extract_slice %{{.+}}[0] [1] [1] : tensor<?xf32> to tensor<1xf32>
// CHECK:         tensor.extract_slice %{{.+}}[1] [%{{.+}}] [1] : tensor<?xf32> to tensor<?xf32>
func.func private @split(%x: !kvern.tensor<[n + 1], f32, cpu:0>) -> (!kvern.tensor<[1], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>) attributes {kvern.kernel} {
  %0:2 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[1, n]>} : (!kvern.tensor<[n + 1], f32, cpu:0>) -> (!kvern.tensor<[1], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>)
  return %0#0, %0#1 : !kvern.tensor<[1], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>
}
