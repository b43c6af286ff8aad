// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-collapse-rows))' | FileCheck %s

// A batch of matrices times one matrix is one matrix times it.
// CHECK-LABEL: func.func private @product
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<?x?x64xf32> into tensor<?x64xf32>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<?x?x32xf32> into memref<?x32xf32>
func.func private @product(%a: memref<?x?x64xf32>, %w: memref<32x64xf32>, %out: memref<?x?x32xf32>, %b: index {kvern.symbol = "d0"}, %s: index {kvern.symbol = "d1"}) attributes {kvern.kernel} {
  %c = arith.constant 0.0 : f32
  %x = bufferization.to_tensor %a restrict : memref<?x?x64xf32> to tensor<?x?x64xf32>
  %y = bufferization.to_tensor %w restrict : memref<32x64xf32> to tensor<32x64xf32>
  %e = tensor.empty(%b, %s) : tensor<?x?x32xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x?x64xf32>, tensor<32x64xf32>) outs(%f : tensor<?x?x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x?x32xf32>
  bufferization.materialize_in_destination %0 in restrict writable %out : (tensor<?x?x32xf32>, memref<?x?x32xf32>) -> ()
  return
}
