// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-bufferize))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The result is computed where it is written to: no allocation, no copy.
// CHECK-LABEL: func.func private @negate
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<?xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: : tensor<
// CHECK: linalg.generic {{.*}} ins(%[[A]] : memref<?xf32>) outs(%[[OUT]] : memref<?xf32>)
// CHECK-NOT: memref.alloc
func.func private @negate(%a: memref<?xf32>, %out: memref<?xf32>, %n: index) attributes {kvern.kernel} {
  %x = bufferization.to_tensor %a restrict : memref<?xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %0 in restrict writable %out : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}
