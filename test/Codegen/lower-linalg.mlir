// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-lower-linalg))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Contiguous axes are one loop.
// CHECK-LABEL: func.func private @negate
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.negf
func.func private @negate(%a: memref<?x8xf32>, %out: memref<?x8xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x8xf32>) outs(%out : memref<?x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  }
  return
}

// A sum along the innermost loop is carried, and may be reassociated.
// CHECK-LABEL: func.func private @sum
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} fastmath<{{.*}}reassoc
func.func private @sum(%a: memref<?x8xf32>, %out: memref<?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<?x8xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %r = arith.addf %in, %o : f32
    linalg.yield %r : f32
  }
  return
}
