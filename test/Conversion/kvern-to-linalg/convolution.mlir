// RUN: kvern-opt %s -kvern-convert-to-linalg | FileCheck %s

// Windows read a padded copy at place * stride + offset * dilation.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 + d5 * 3, d6)>
// CHECK-DAG: #[[F:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3 floordiv 16, d4, d5, d6, d3 mod 16)>
// CHECK-DAG: #[[G:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, (d3 floordiv 3) * 4 + d6)>
// CHECK-DAG: #[[D:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
// CHECK-DAG: #[[D0:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, 0, d3)>

// CHECK-LABEL: func.func @conv2d
// CHECK-SAME: %[[H:[a-z0-9]+]]: index {kvern.symbol = "h"}
func.func @conv2d(%x: !kvern.tensor<[2, h, 9, 5], bf16, cpu:0>, %f: !kvern.tensor<[3, 2, 5, 7], bf16, cpu:0>, %b: !kvern.tensor<[7], bf16, cpu:0>) -> !kvern.tensor<[2, (h - 1) floordiv 2, 8, 7], bf16, cpu:0> attributes {kvern.kernel} {
  // CHECK: %[[PADDED:.*]] = tensor.insert_slice {{.*}}[0, 0, 1, 0] [2, %[[H]], 9, 5]
  // CHECK: linalg.generic {indexing_maps = [#[[X]], #[[F]], {{.*}}ins(%[[PADDED]], {{.*}}) outs({{.*}} : tensor<2x?x8x7xf32>)
  // CHECK: arith.extf
  // The bias is added before the sum is rounded.
  // CHECK: linalg.generic
  // CHECK: arith.addf
  // CHECK-NEXT: arith.truncf
  %0 = kvern.conv2d %x, %f, %b {strides = array<i64: 2, 1>, dilations = array<i64: 1, 3>, paddings = array<i64: 0, 0, 1, 1>} : (!kvern.tensor<[2, h, 9, 5], bf16, cpu:0>, !kvern.tensor<[3, 2, 5, 7], bf16, cpu:0>, !kvern.tensor<[7], bf16, cpu:0>) -> !kvern.tensor<[2, (h - 1) floordiv 2, 8, 7], bf16, cpu:0>
  return %0 : !kvern.tensor<[2, (h - 1) floordiv 2, 8, 7], bf16, cpu:0>
}

// CHECK-LABEL: func.func @packed
func.func @packed(%x: !kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, %f: !kvern.tensor<[2, 1, 1, 8, 16], f32, cpu:0>) -> !kvern.tensor<[2, 4, 5, 20], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[P]], {{.*}}outs({{.*}} : tensor<2x4x5x20xf32>)
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 20 : i64} : (!kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, !kvern.tensor<[2, 1, 1, 8, 16], f32, cpu:0>) -> !kvern.tensor<[2, 4, 5, 20], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 4, 5, 20], f32, cpu:0>
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: !kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 4, 6], f32, cpu:0>) -> !kvern.tensor<[2, 2, 3, 6], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: linalg.generic {indexing_maps = [#[[G]], #[[F]]
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 2 : i64} : (!kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 4, 6], f32, cpu:0>) -> !kvern.tensor<[2, 2, 3, 6], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 2, 3, 6], f32, cpu:0>
}

// Nothing is summed but the kernel.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: !kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 1, 8], f32, cpu:0>) -> !kvern.tensor<[2, 2, 3, 8], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: linalg.generic {indexing_maps = [#[[D]], #[[D0]]
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 8 : i64} : (!kvern.tensor<[2, 4, 5, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 1, 8], f32, cpu:0>) -> !kvern.tensor<[2, 2, 3, 8], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 2, 3, 8], f32, cpu:0>
}

// Every other row and column of the result takes the same part of the filter: here 2 x 1 of 3 x 3.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: !kvern.tensor<[2, 4, 5, 3], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 3, 7], f32, cpu:0>) -> !kvern.tensor<[2, 9, 11, 7], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: %[[PADDED:.*]] = tensor.insert_slice {{.*}}[0, 1, 1, 0] [2, 4, 5, 3] [1, 1, 1, 1] : tensor<2x4x5x3xf32> into tensor<2x6x7x3xf32>
  // CHECK: tensor.extract_slice {{.*}}[0, 0, 1, 0] [2, 5, 5, 7] [1, 2, 2, 1] : tensor<2x9x11x7xf32> to tensor<2x5x5x7xf32>
  // CHECK: %[[X1:.*]] = tensor.extract_slice %[[PADDED]][0, 0, 1, 0] [2, 6, 5, 3]
  // CHECK: %[[F1:.*]] = tensor.extract_slice {{.*}}[0, 1, 0, 0] [2, 1, 3, 7] [2, 2, 1, 1]
  // CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[F]], {{.*}}ins(%[[X1]], %[[F1]]
  // CHECK: tensor.insert_slice {{.*}}[0, 0, 1, 0] [2, 5, 5, 7] [1, 2, 2, 1] : tensor<2x5x5x7xf32> into tensor<2x9x11x7xf32>
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>, filter_layout = "reversed"} : (!kvern.tensor<[2, 4, 5, 3], f32, cpu:0>, !kvern.tensor<[3, 3, 3, 7], f32, cpu:0>) -> !kvern.tensor<[2, 9, 11, 7], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 9, 11, 7], f32, cpu:0>
}

// With a dilation as well: zeros between and around the elements.
// CHECK-LABEL: func.func @transposed_dilated
func.func @transposed_dilated(%x: !kvern.tensor<[2, 4, 5, 3], f32, cpu:0>, %f: !kvern.tensor<[2, 2, 3, 7], f32, cpu:0>) -> !kvern.tensor<[2, 9, 11, 7], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: tensor.insert_slice {{.*}}[0, 2, 2, 0] [2, 4, 5, 3] [1, 2, 2, 1] : tensor<2x4x5x3xf32> into tensor<2x11x13x3xf32>
  // CHECK: linalg.generic {{.*}}outs({{.*}} : tensor<2x9x11x7xf32>)
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 2, 2>, dilations = array<i64: 2, 2>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>, filter_layout = "reversed"} : (!kvern.tensor<[2, 4, 5, 3], f32, cpu:0>, !kvern.tensor<[2, 2, 3, 7], f32, cpu:0>) -> !kvern.tensor<[2, 9, 11, 7], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 9, 11, 7], f32, cpu:0>
}
