// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-lower-linalg=vector-bits=0 -canonicalize | FileCheck %s

#all = affine_map<(i, j) -> (i, j)>

// Contiguous axes are one loop, in strips that threads can share.
// CHECK-LABEL: func @elementwise
//       CHECK: memref.collapse_shape
//       CHECK: scf.forall {{.*}} step (4096)
//       CHECK:   scf.for %
//   CHECK-NOT:   scf.for
//       CHECK:     math.exp
func.func @elementwise(%x: memref<?x?xf32>, %out: memref<?x?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Along the contiguous axis: in a register, in any order.
// CHECK-LABEL: func @row_sum
//       CHECK: scf.forall
//       CHECK:   %[[SUM:.*]] = scf.for {{.*}} iter_args
//       CHECK:     arith.addf {{.*}} fastmath<reassoc,contract>
//       CHECK:   memref.store %[[SUM]]
func.func @row_sum(%x: memref<?x?xf32>, %out: memref<?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %acc, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Across it: row by row into memory, some columns at a time.
// CHECK-LABEL: func @column_sum
//  CHECK-SAME:   %[[X:.*]]: memref<?x?xf32>, %[[OUT:.*]]: memref<?xf32>
//       CHECK: scf.forall {{.*}} step (256)
//       CHECK:   %[[IN:.*]] = memref.subview %[[X]]
//       CHECK:   %[[SUMS:.*]] = memref.subview %[[OUT]]
//       CHECK:   scf.for %[[I:.*]] =
//   CHECK-NOT:     iter_args
//       CHECK:     scf.for %[[J:.*]] =
//       CHECK:       memref.load %[[IN]][%[[I]], %[[J]]]
//       CHECK:       memref.store %{{.*}}, %[[SUMS]][%[[J]]]
func.func @column_sum(%x: memref<?x?xf32>, %out: memref<?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %acc, %a : f32
    linalg.yield %0 : f32
  }
  return
}
