// RUN: kvern-opt %s -kvern-convert-to-host -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: kvern.weights = [{name = "w", type = !kvern.tensor<[4], f32, cpu:0>}]
// CHECK-LABEL: func.func @graph_graph(%arg0: !llvm.ptr) -> i32
// CHECK-SAME: name = "graph", num_input_symbols = 1 : i64
// CHECK-SAME: steps = [{bytes = #kvern.dim<n * 32 + 16>, kernel = "scale", lines = [{{.*}}], ops = ["kvern.mul"]}, {bytes = #kvern.dim<m * 32 + 16>
// CHECK-SAME: symbols = ["n", "m"]
// CHECK-SAME: weights = array<i64: 0>
func.func @graph(%x: !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m * 4], f32, cpu:0> {
  // CHECK: %[[N:.*]] = kvern.host.symbol %arg0[0]
  // CHECK: %[[X:.*]] = kvern.host.input %arg0[0] (%[[N]]) : !llvm.ptr -> memref<?x4xf32>
  // CHECK: %[[W:.*]] = kvern.host.weight %arg0[0] : !llvm.ptr -> memref<4xf32>
  %w = kvern.weight {name = "w"} : !kvern.tensor<[4], f32, cpu:0>
  // CHECK: %[[T:.*]] = memref.alloc(%[[N]])
  // CHECK: kvern.host.step %arg0[0]
  // CHECK: call @scale(%[[X]], %[[W]], %[[T]], %[[N]])
  %0 = kvern.call @scale(%x, %w) {dims = {d0 = #kvern.dim<n>}} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  // m is n from here on: nothing to check.
  // CHECK-NOT: kvern.host.check
  %1 = kvern.rebind %0 {shape = #kvern.shape<[m, 4]>} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m, 4], f32, cpu:0>
  // The last kernel writes the output, seen as a matrix.
  // CHECK: %[[OUT:.*]] = kvern.host.output %arg0[0]
  // CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[OUT]]
  // CHECK: call @scale(%{{.*}}, %[[W]], %[[VIEW]], %[[N]])
  %2 = kvern.call @scale(%1, %w) {dims = {d0 = #kvern.dim<m>}} : (!kvern.tensor<[m, 4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[m, 4], f32, cpu:0>
  %3 = kvern.reshape %2 {shape = #kvern.shape<[m * 4]>} : (!kvern.tensor<[m, 4], f32, cpu:0>) -> !kvern.tensor<[m * 4], f32, cpu:0>
  return %3 : !kvern.tensor<[m * 4], f32, cpu:0>
}
func.func private @scale(memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>, index {kvern.symbol = "d0"}) attributes {kvern.kernel, kvern.work = {bytes = #kvern.dim<d0 * 32 + 16>, ops = ["kvern.mul"]}}

// -----

// A name that is bound already makes a check.
// CHECK-LABEL: func.func @graph_check
// CHECK-SAME: message = "expected size 4 = {1} at axis 0, but got n = {0}: four rows"
func.func @check(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0> {
  // CHECK: %[[SAME:.*]] = arith.cmpi eq
  // CHECK: kvern.host.check %arg0, %[[SAME]][0]
  // CHECK: %[[OUT:.*]] = kvern.host.output
  // CHECK: memref.copy %{{.*}}, %[[OUT]]
  %0 = kvern.rebind %x {shape = #kvern.shape<[4]>, message = "four rows"} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return %0 : !kvern.tensor<[4], f32, cpu:0>
}

// -----

// expected-error @+1 {{expected all values on cpu:0, the device of this target, but got one on gpu:0}}
func.func @device(%x: !kvern.tensor<[n], f32, gpu:0>) -> !kvern.tensor<[n], f32, gpu:0> {
  return %x : !kvern.tensor<[n], f32, gpu:0>
}

// -----

func.func @types() -> (!kvern.tensor<[2], f32, cpu:0>, !kvern.tensor<[3], f32, cpu:0>) {
  // expected-note @+1 {{first as '!kvern.tensor<[2], f32, cpu:0>'}}
  %0 = kvern.weight {name = "w"} : !kvern.tensor<[2], f32, cpu:0>
  // expected-error @+1 {{expected weight w to have one type, but got '!kvern.tensor<[3], f32, cpu:0>'}}
  %1 = kvern.weight {name = "w"} : !kvern.tensor<[3], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[2], f32, cpu:0>, !kvern.tensor<[3], f32, cpu:0>
}

// -----

func.func @unknown() -> !kvern.tensor<[n], f32, cpu:0> {
  // expected-error @+1 {{expected dimension "m" to be a size of an input, or of a rebind or a run-time slice before this op, but nothing gives it a value}}
  %0 = kvern.call @fill() {dims = {d0 = #kvern.dim<m>}} : () -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}
func.func private @fill(memref<?xf32>, index {kvern.symbol = "d0"}) attributes {kvern.kernel}

// -----

// expected-error @+1 {{expected a kernel to be private, but @graph is public}}
func.func @graph(%x: memref<4xf32>) attributes {kvern.kernel} {
  return
}
