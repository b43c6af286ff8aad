// RUN: kvern-opt %s --kvern-lower-linalg="vector-bits=256" | FileCheck %s

// A square of rows is read, transposed in registers, and written.

// CHECK-LABEL: func.func @transpose
// CHECK:         scf.forall (%{{.+}}, %{{.+}}) in (6, 1)
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-8:       vector.load {{.*}} vector<8xf32>
// CHECK:               vector.shuffle
// CHECK-COUNT-8:       vector.store {{.*}} vector<8xf32>
// CHECK:           memref.load
func.func @transpose(%x: memref<6x16x100xf32>, %y: memref<6x100x16xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [affine_map<(p, k, j) -> (p, j, k)>, affine_map<(p, k, j) -> (p, k, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<6x16x100xf32>) outs(%y : memref<6x100x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Blocks that are contiguous on both sides are copied by registers.

// CHECK-LABEL: func.func @blocks
// CHECK:         scf.forall (%{{.+}}) in (%{{.+}})
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-2:       vector.store
// CHECK-NOT:           vector.store
func.func @blocks(%x: memref<100x?x16xf32>, %y: memref<?x100x16xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [affine_map<(p, k, j) -> (k, p, j)>, affine_map<(p, k, j) -> (p, k, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<100x?x16xf32>) outs(%y : memref<?x100x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
