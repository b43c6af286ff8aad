// RUN: kvern-opt %s -canonicalize | FileCheck %s

// Channels and filters come last; permutations that this needs are around the op.
// CHECK-LABEL: func.func @channels_first
func.func @channels_first(%x: !kvern.tensor<[n, 8, h, w], f32, cpu:0>, %f: !kvern.tensor<[16, 4, 1, 3], f32, cpu:0>) -> !kvern.tensor<[n, 16, h, w - 2], f32, cpu:0> {
  // CHECK-DAG: %[[X:.*]] = kvern.permute %arg0 {permutation = array<i64: 0, 2, 3, 1>}
  // CHECK-DAG: %[[F:.*]] = kvern.permute %arg1 {permutation = array<i64: 2, 3, 1, 0>}
  // CHECK: %[[Y:.*]] = kvern.conv2d %[[X]], %[[F]] {dilations = array<i64: 1, 1>, groups = 2 : i64, paddings = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}
  // CHECK: kvern.permute %[[Y]] {permutation = array<i64: 0, 3, 1, 2>}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 2 : i64, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[16, 4, 1, 3], f32, cpu:0>) -> !kvern.tensor<[n, 16, h, w - 2], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 16, h, w - 2], f32, cpu:0>
}

// Between two convolutions no permutation is left.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: !kvern.tensor<[n, 8, h, w], f32, cpu:0>, %f: !kvern.tensor<[8, 8, 3, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0> {
  // CHECK: %[[Y:.*]] = kvern.conv2d
  // CHECK-NEXT: %[[F:.*]] = kvern.permute %arg1
  // CHECK-NEXT: kvern.conv2d %[[Y]], %[[F]]
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 0, 0>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 8, 3, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %1 = kvern.conv2d %0, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 0, 0>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 8, 3, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  return %1 : !kvern.tensor<[n, 8, h, w], f32, cpu:0>
}

// CHECK-LABEL: func.func @volume
func.func @volume(%x: !kvern.tensor<[n, 2, d, h, w], f32, cpu:0>, %f: !kvern.tensor<[3, 2, 1, 2, 1], f32, cpu:0>) -> !kvern.tensor<[n, 3, d, h - 1, w], f32, cpu:0> {
  // CHECK-DAG: kvern.permute %arg0 {permutation = array<i64: 0, 2, 3, 4, 1>}
  // CHECK-DAG: kvern.permute %arg1 {permutation = array<i64: 2, 3, 4, 1, 0>}
  // CHECK: kvern.conv3d
  // CHECK: kvern.permute {{.*}} {permutation = array<i64: 0, 4, 1, 2, 3>}
  %0 = kvern.conv3d %x, %f {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, paddings = array<i64: 0, 0, 0, 0, 0, 0>, input_layout = "NCDHW", filter_layout = "FCQRS"} : (!kvern.tensor<[n, 2, d, h, w], f32, cpu:0>, !kvern.tensor<[3, 2, 1, 2, 1], f32, cpu:0>) -> !kvern.tensor<[n, 3, d, h - 1, w], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 3, d, h - 1, w], f32, cpu:0>
}

// A kernel of one element is a product.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[1, 1, 8, 16], f32, cpu:0>, %b: !kvern.tensor<[16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 16], f32, cpu:0> {
  // CHECK: %[[F:.*]] = kvern.reshape %arg1 {shape = #kvern.shape<[8, 16]>}
  // CHECK: %[[Y:.*]] = kvern.matmul %arg0, %[[F]]
  // CHECK: kvern.add %[[Y]], %arg2
  %0 = kvern.conv2d %x, %f, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[1, 1, 8, 16], f32, cpu:0>, !kvern.tensor<[16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 16], f32, cpu:0>
  return %0 : !kvern.tensor<[n, h, w, 16], f32, cpu:0>
}

// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 2, 4, 8], f32, cpu:0>) -> !kvern.tensor<[n, h + 2, w + 1, 4], f32, cpu:0> {
  // CHECK: %[[F:.*]] = kvern.slice %arg1 {{.*}}steps = array<i64: -1, -1, 1, 1>
  // CHECK: %[[P:.*]] = kvern.permute %[[F]] {permutation = array<i64: 0, 1, 3, 2>}
  // CHECK: kvern.conv2d_transpose %arg0, %[[P]] {dilations = array<i64: 1, 1>, filter_layout = "reversed"
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 2, 4, 8], f32, cpu:0>) -> !kvern.tensor<[n, h + 2, w + 1, 4], f32, cpu:0>
  return %0 : !kvern.tensor<[n, h + 2, w + 1, 4], f32, cpu:0>
}

// What follows element by element is computed with channels last, too.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: !kvern.tensor<[n, 8, h, w], f32, cpu:0>, %f: !kvern.tensor<[8, 8, 3, 3], f32, cpu:0>, %s: !kvern.tensor<[8, 1, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0> {
  // CHECK: %[[X:.*]] = kvern.permute %arg0
  // CHECK: %[[Y:.*]] = kvern.conv2d %[[X]]
  // CHECK-NEXT: %[[S:.*]] = kvern.reshape %arg2 {shape = #kvern.shape<[8]>}
  // CHECK-NEXT: %[[M:.*]] = kvern.mul %[[Y]], %[[S]]
  // CHECK-NEXT: %[[R:.*]] = kvern.relu %[[M]]
  // CHECK: %[[Z:.*]] = kvern.conv2d %[[R]]
  // CHECK-NEXT: %[[A:.*]] = kvern.add %[[Z]], %[[R]]
  // CHECK-NEXT: %[[P:.*]] = kvern.permute %[[A]] {permutation = array<i64: 0, 3, 1, 2>}
  // CHECK-NEXT: return %[[P]]
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 8, 3, 3], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %1 = kvern.mul %0, %s : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 1, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %2 = kvern.relu %1 : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %3 = kvern.conv2d %2, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 8, 3, 3], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %4 = kvern.add %3, %2 : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[n, 8, h, w], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  return %4 : !kvern.tensor<[n, 8, h, w], f32, cpu:0>
}

// An operand that a convolution reads with channels last is no obstacle.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: !kvern.tensor<[n, 8, h, w], f32, cpu:0>, %f: !kvern.tensor<[8, 8, 3, 3], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0> {
  // CHECK: %[[Y:.*]] = kvern.conv2d
  // CHECK: %[[X:.*]] = kvern.permute %arg0 {permutation = array<i64: 0, 2, 3, 1>}
  // CHECK-NEXT: %[[A:.*]] = kvern.add %[[Y]], %[[X]]
  // CHECK-NEXT: %[[P:.*]] = kvern.permute %[[A]]
  // CHECK-NEXT: return %[[P]]
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, input_layout = "NCHW", filter_layout = "FCRS"} : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[8, 8, 3, 3], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  %1 = kvern.add %0, %x : (!kvern.tensor<[n, 8, h, w], f32, cpu:0>, !kvern.tensor<[n, 8, h, w], f32, cpu:0>) -> !kvern.tensor<[n, 8, h, w], f32, cpu:0>
  return %1 : !kvern.tensor<[n, 8, h, w], f32, cpu:0>
}
