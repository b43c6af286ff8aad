// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-resolve-dims))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The size of the result is that of the empty tensor, which is an argument.
// CHECK-LABEL: func.func private @size
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK-NOT: tensor.dim
// CHECK: memref.store %[[N]]
func.func private @size(%a: memref<?xf32>, %size: memref<index>, %n: index {kvern.symbol = "d0"}) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %x = bufferization.to_tensor %a restrict : memref<?xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %d = tensor.dim %0, %zero : tensor<?xf32>
  memref.store %d, %size[] : memref<index>
  return
}
