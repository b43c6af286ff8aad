// RUN: kvern-opt %s -kvern-lower-contraction="vector-bits=512 vector-registers=32" | FileCheck %s

// What was decided is noted on the kernel, for reports.
// CHECK: func.func @product
// CHECK-SAME: kvern.schedule = ["product: both sides packed by block, register tiles 14x32, blocks {{[0-9]+x[0-9]+x[0-9]+}}"]
func.func @product(%a: memref<64x48xf32>, %b: memref<48x96xf32>, %c: memref<64x96xf32>) attributes {kvern.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<64x48xf32>, memref<48x96xf32>) outs(%c : memref<64x96xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
