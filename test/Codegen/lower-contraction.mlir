// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-lower-contraction{vector-bits=256}))' | FileCheck %s

// Few rows run one way, many another; both on vectors of eight f32.
// CHECK-LABEL: func.func private @product
// CHECK: scf.if
// CHECK: vector.fma {{.*}} : vector<8xf32>
// CHECK: else
// CHECK: vector.fma {{.*}} : vector<8xf32>
// CHECK-NOT: linalg.generic
func.func private @product(%a: memref<?x64xf32>, %w: memref<32x64xf32>, %out: memref<?x32xf32>, %n: index {kvern.symbol = "d0"}) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<?x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : memref<?x64xf32>, memref<32x64xf32>) outs(%out : memref<?x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  return
}
