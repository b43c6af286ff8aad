// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!x = !kvern.tensor<[n, h, w, 8], f32, cpu:0>

// CHECK-LABEL: func.func @pools
func.func @pools(%x: !x, %y: !kvern.tensor<[1, 7, 8, 3], f32, cpu:0>) {
  // CHECK: kvern.max_pool2d {{.*}} -> !kvern.tensor<[n, h floordiv 2, w floordiv 2, 8], f32, cpu:0>
  %0 = kvern.max_pool2d %x {kernel_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!x) -> !kvern.tensor<[n, h floordiv 2, w floordiv 2, 8], f32, cpu:0>
  // Along the height, 7 elements have 3 whole windows and a part of one.
  // CHECK: kvern.avg_pool2d {{.*}}ceil_mode, count_boundary{{.*}} -> !kvern.tensor<[1, 4, 4, 3], f32, cpu:0>
  %1 = kvern.avg_pool2d %y {kernel_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, ceil_mode, count_boundary} : (!kvern.tensor<[1, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[1, 4, 4, 3], f32, cpu:0>
  // A fourth window would start in the padding behind 7 elements.
  // CHECK: kvern.max_pool2d {{.*}} -> !kvern.tensor<[1, 4, 5, 3], f32, cpu:0>
  %2 = kvern.max_pool2d %y {kernel_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, ceil_mode} : (!kvern.tensor<[1, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[1, 4, 5, 3], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @pad
func.func @pad(%x: !kvern.tensor<[n, 8], i32, cpu:0>, %v: !kvern.tensor<[], i32, cpu:0>) {
  // CHECK: kvern.pad %arg0, %arg1 {mode = "constant", paddings = array<i64: 1, 0, 2, 3>} : {{.*}} -> !kvern.tensor<[n + 1, 13], i32, cpu:0>
  %0 = kvern.pad %x, %v {paddings = array<i64: 1, 0, 2, 3>, mode = "constant"} : (!kvern.tensor<[n, 8], i32, cpu:0>, !kvern.tensor<[], i32, cpu:0>) -> !kvern.tensor<[n + 1, 13], i32, cpu:0>
  return
}
