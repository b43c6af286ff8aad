// RUN: kvern-opt %s -kvern-convert-to-linalg | FileCheck %s

// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>

// CHECK-LABEL: func.func @max_pool
func.func @max_pool(%x: !kvern.tensor<[n, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[n, 4, 4, 3], f32, cpu:0> attributes {kvern.kernel} {
  // CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: linalg.fill ins(%[[INF]]
  // CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[W]], {{.*}}
  // CHECK: arith.maximumf
  %0 = kvern.max_pool2d %x {kernel_size = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 0, 0>} : (!kvern.tensor<[n, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[n, 4, 4, 3], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 4, 4, 3], f32, cpu:0>
}

// CHECK-LABEL: func.func @avg_pool
func.func @avg_pool(%x: !kvern.tensor<[n, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[n, 7, 7, 3], f32, cpu:0> attributes {kvern.kernel} {
  // How many elements there are depends on the place.
  // CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<7xf32>)
  // CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<7xf32>)
  // CHECK: arith.divf
  %0 = kvern.avg_pool2d %x {kernel_size = array<i64: 3, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 0, 0>} : (!kvern.tensor<[n, 7, 8, 3], f32, cpu:0>) -> !kvern.tensor<[n, 7, 7, 3], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 7, 7, 3], f32, cpu:0>
}

// CHECK-LABEL: func.func @pad
func.func @pad(%x: !kvern.tensor<[n, 3], i32, cpu:0>) -> !kvern.tensor<[n, 6], i32, cpu:0> attributes {kvern.kernel} {
  // CHECK: linalg.generic
  // CHECK: linalg.index 1
  // CHECK: tensor.extract
  %0 = kvern.pad %x {paddings = array<i64: 0, 0, 2, 1>, mode = "reflect"} : (!kvern.tensor<[n, 3], i32, cpu:0>) -> !kvern.tensor<[n, 6], i32, cpu:0>
  return %0 : !kvern.tensor<[n, 6], i32, cpu:0>
}
