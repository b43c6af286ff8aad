// RUN: kvern-opt %s -kvern-pack-weights="panel-bits=512" | FileCheck %s

!x = !kvern.tensor<[n, h, w, 8], f32, cpu:0>

// A filter is packed as the matrix with one column a filter.
// CHECK-LABEL: func.func @filter
func.func @filter(%x: !x) -> !kvern.tensor<[n, h - 2, w - 2, 60], f32, cpu:0> {
  %f = kvern.weight {name = "f"} : !kvern.tensor<[3, 3, 8, 60], f32, cpu:0>
  // CHECK: %[[M:.*]] = kvern.reshape %{{.*}} {shape = #kvern.shape<[72, 60]>}
  // CHECK: %[[P:.*]] = kvern.pack %[[M]] {panel = 16 : i64}
  // CHECK: %[[F:.*]] = kvern.reshape %[[P]] {shape = #kvern.shape<[4, 3, 3, 8, 16]>}
  // CHECK: kvern.packed_conv %arg0, %[[F]] {dilations = array<i64: 1, 1>, filters = 60 : i64, paddings = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!x, !kvern.tensor<[3, 3, 8, 60], f32, cpu:0>) -> !kvern.tensor<[n, h - 2, w - 2, 60], f32, cpu:0>
  return %0 : !kvern.tensor<[n, h - 2, w - 2, 60], f32, cpu:0>
}

// Groups are read where they lie, as is a filter that is an input.
// CHECK-LABEL: func.func @plain
func.func @plain(%x: !x, %g: !kvern.tensor<[3, 3, 8, 64], f32, cpu:0>) -> (!kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>, !kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>) {
  %f = kvern.weight {name = "f"} : !kvern.tensor<[3, 3, 4, 64], f32, cpu:0>
  // CHECK-NOT: kvern.pack
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 2 : i64} : (!x, !kvern.tensor<[3, 3, 4, 64], f32, cpu:0>) -> !kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>
  %1 = kvern.conv2d %x, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!x, !kvern.tensor<[3, 3, 8, 64], f32, cpu:0>) -> !kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>, !kvern.tensor<[n, h - 2, w - 2, 64], f32, cpu:0>
}
