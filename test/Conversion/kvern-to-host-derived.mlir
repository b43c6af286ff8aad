// RUN: kvern-opt %s --kvern-convert-to-host | FileCheck %s

// Derived weights are entries of the table; equal ones are one. A weight that
// only initializers read is no weight of the program.

// CHECK:      module attributes {kvern.weights = [
// CHECK-SAME:   {name = "w", type = !kvern.tensor<[4], f32, cpu:0>},
// CHECK-SAME:   {initializer = "double", input_types = [!kvern.tensor<[2, 2], f32, cpu:0>], inputs = array<i64: 0>, name = "double(w)", type = !kvern.tensor<[4, 2], f32, cpu:0>},
// CHECK-SAME:   {name = "v", type = !kvern.tensor<[2, 2], f32, cpu:0>},
// CHECK-SAME:   {initializer = "double", input_types = [!kvern.tensor<[2, 2], f32, cpu:0>], inputs = array<i64: 2>, name = "double(v)", type = !kvern.tensor<[4, 2], f32, cpu:0>}]}

func.func private @kernel(%w: memref<?x2xf32>, %y: memref<?x2xf32>, %n: index {kvern.symbol = "d0"}) attributes {kvern.kernel}

// CHECK-LABEL: func.func @graph_double
// CHECK-SAME:    initializer = "fingerprint"
// CHECK:         kvern.host.input
// CHECK:         kvern.host.output
// CHECK:         call @kernel
func.func @double(%w: !kvern.tensor<[d0, 2], f32, cpu:0>) -> !kvern.tensor<[d0 * 2, 2], f32, cpu:0> attributes {kvern.initializer = "fingerprint"} {
  %0 = kvern.call @kernel(%w) {dims = {d0 = #kvern.dim<d0>}} : (!kvern.tensor<[d0, 2], f32, cpu:0>) -> !kvern.tensor<[d0 * 2, 2], f32, cpu:0>
  return %0 : !kvern.tensor<[d0 * 2, 2], f32, cpu:0>
}

// CHECK-LABEL: func.func @graph_g
// CHECK-SAME:    initializer = ""
// CHECK-SAME:    weights = array<i64: 1, 2, 3>
// CHECK-NEXT:    kvern.host.weight %{{.+}}[0] : !llvm.ptr -> memref<4x2xf32>
// CHECK-NEXT:    kvern.host.weight %{{.+}}[0] : !llvm.ptr -> memref<4x2xf32>
// CHECK-NEXT:    kvern.host.weight %{{.+}}[1] : !llvm.ptr -> memref<2x2xf32>
// CHECK-NEXT:    kvern.host.weight %{{.+}}[2] : !llvm.ptr -> memref<4x2xf32>
func.func @g() -> (!kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[2, 2], f32, cpu:0>, !kvern.tensor<[4, 2], f32, cpu:0>) {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[4], f32, cpu:0>
  %m = kvern.reshape %w {shape = #kvern.shape<[2, 2]>} : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[2, 2], f32, cpu:0>
  %0 = kvern.derived_weight @double(%m) : (!kvern.tensor<[2, 2], f32, cpu:0>) -> !kvern.tensor<[4, 2], f32, cpu:0>
  %1 = kvern.derived_weight @double(%m) : (!kvern.tensor<[2, 2], f32, cpu:0>) -> !kvern.tensor<[4, 2], f32, cpu:0>
  %v = kvern.weight {name = "v"} : !kvern.tensor<[2, 2], f32, cpu:0>
  %2 = kvern.derived_weight @double(%v) : (!kvern.tensor<[2, 2], f32, cpu:0>) -> !kvern.tensor<[4, 2], f32, cpu:0>
  return %0, %1, %v, %2 : !kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[2, 2], f32, cpu:0>, !kvern.tensor<[4, 2], f32, cpu:0>
}
