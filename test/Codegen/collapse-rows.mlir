// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-collapse-rows -canonicalize | FileCheck %s

#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (n, k)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#all = affine_map<(b, m, n) -> (b, m, n)>
#last = affine_map<(b, m, n) -> (n)>

// CHECK-LABEL: func @linear
//  CHECK-SAME:   %[[A:.*]]: memref<?x?x8xf32>, %{{.*}}, %{{.*}}, %[[OUT:.*]]: memref<?x?x32xf32>
//       CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}} ["parallel", "parallel", "reduction"]
//  CHECK-SAME:   ins(%{{.*}} : tensor<?x8xf32>, tensor<32x8xf32>)
//       CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ["parallel", "parallel"]} ins(%[[PRODUCT]],
//       CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[OUT]] {{\[\[}}0, 1], [2]]
//       CHECK: bufferization.materialize_in_destination %[[SUM]] in restrict writable %[[ROWS]]
func.func @linear(%a: memref<?x?x8xf32>, %w: memref<32x8xf32>, %bias: memref<32xf32>, %out: memref<?x?x32xf32>,
                  %d0: index, %d1: index) attributes {kvern.kernel} {
  %0 = bufferization.to_tensor %a restrict : memref<?x?x8xf32> to tensor<?x?x8xf32>
  %1 = bufferization.to_tensor %w restrict : memref<32x8xf32> to tensor<32x8xf32>
  %2 = bufferization.to_tensor %bias restrict : memref<32xf32> to tensor<32xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d0, %d1) : tensor<?x?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %3 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%0, %1 : tensor<?x?x8xf32>, tensor<32x8xf32>) outs(%init : tensor<?x?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?x?x32xf32>
  %4 = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%3, %2 : tensor<?x?x32xf32>, tensor<32xf32>) outs(%e : tensor<?x?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?x?x32xf32>
  bufferization.materialize_in_destination %4 in restrict writable %out : (tensor<?x?x32xf32>, memref<?x?x32xf32>) -> ()
  return
}

// -----

#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#panels = affine_map<(b, m, n, k) -> (n floordiv 16, k, n mod 16)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// Panels of a packed matrix stay as they are.
// CHECK-DAG: #[[PANELS:.*]] = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
// CHECK-LABEL: func @packed
//       CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<?x?x64xf32> into tensor<?x64xf32>
//       CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PANELS]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]}
func.func @packed(%a: tensor<?x?x64xf32>, %w: tensor<3x64x16xf32>, %dest: memref<?x?x40xf32>, %b: index, %m: index) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%b, %m) : tensor<?x?x40xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x40xf32>) -> tensor<?x?x40xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<?x?x64xf32>, tensor<3x64x16xf32>) outs(%init : tensor<?x?x40xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?x?x40xf32>
  bufferization.materialize_in_destination %0 in restrict writable %dest : (tensor<?x?x40xf32>, memref<?x?x40xf32>) -> ()
  return
}
