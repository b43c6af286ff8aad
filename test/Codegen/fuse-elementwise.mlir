// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-fuse-elementwise))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Two elementwise ops become one.
// CHECK-LABEL: func.func private @chain
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @chain(%a: memref<?xf32>, %out: memref<?xf32>, %n: index) attributes {kvern.kernel} {
  %x = bufferization.to_tensor %a restrict : memref<?xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}
