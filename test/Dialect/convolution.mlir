// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!x = !kvern.tensor<[n, h, w, 8], f32, cpu:0>

// CHECK-LABEL: func.func @conv2d
func.func @conv2d(%x: !x, %f: !kvern.tensor<[3, 5, 4, 16], f32, cpu:0>, %b: !kvern.tensor<[16], f32, cpu:0>) {
  // CHECK: kvern.conv2d %arg0, %arg1, %arg2 {dilations = array<i64: 1, 2>, groups = 2 : i64, paddings = array<i64: 1, 1, 2, 2>, strides = array<i64: 2, 1>} : {{.*}} -> !kvern.tensor<[n, (h + 1) floordiv 2, w - 4, 16], f32, cpu:0>
  %0 = kvern.conv2d %x, %f, %b {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, paddings = array<i64: 1, 1, 2, 2>, groups = 2 : i64} : (!x, !kvern.tensor<[3, 5, 4, 16], f32, cpu:0>, !kvern.tensor<[16], f32, cpu:0>) -> !kvern.tensor<[n, (h + 1) floordiv 2, w - 4, 16], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @conv2d_nchw
func.func @conv2d_nchw(%x: !kvern.tensor<[n, 8, h, w], f32, cpu:0>, %f: !kvern.tensor<[16, 8, 1, 3], f32, cpu:0>) {
  // CHECK: kvern.conv2d {{.*}}filter_layout = "FCRS", input_layout = "NCHW"{{.*}} -> !kvern.tensor<[n, 16, h, w - 2], f32, cpu:0>
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[16, 8, 1, 3], f32, cpu:0>) -> !kvern.tensor<[n, 16, h, w - 2], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @conv3d
func.func @conv3d(%x: !kvern.tensor<[n, 5, h, 9, 4], f32, cpu:0>, %f: !kvern.tensor<[3, 1, 3, 4, 6], f32, cpu:0>) {
  // CHECK: kvern.conv3d {{.*}} -> !kvern.tensor<[n, 3, h, 7, 6], f32, cpu:0>
  %0 = kvern.conv3d %x, %f {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, paddings = array<i64: 0, 0, 0, 0, 0, 0>} : (!kvern.tensor<[n, 5, h, 9, 4], f32, cpu:0>, !kvern.tensor<[3, 1, 3, 4, 6], f32, cpu:0>) -> !kvern.tensor<[n, 3, h, 7, 6], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @conv2d_transpose
func.func @conv2d_transpose(%x: !x, %f: !kvern.tensor<[3, 3, 4, 8], f32, cpu:0>) {
  // CHECK: kvern.conv2d_transpose {{.*}} -> !kvern.tensor<[n, h * 2, w * 2 - 1, 4], f32, cpu:0>
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, output_paddings = array<i64: 1, 0>} : (!x, !kvern.tensor<[3, 3, 4, 8], f32, cpu:0>) -> !kvern.tensor<[n, h * 2, w * 2 - 1, 4], f32, cpu:0>
  return
}
