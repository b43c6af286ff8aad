// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-tile-and-fuse -canonicalize -cse | FileCheck %s

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The sum of squares and its use, row by row; the row stays whole.
// CHECK-LABEL: func @row_by_row
//  CHECK-SAME:   %[[ROWS:[a-z0-9]*]]: index
//       CHECK: scf.forall (%[[I:.*]]) in (%[[ROWS]])
//       CHECK:   tensor.extract_slice %{{.*}}[%[[I]], 0] [1, 64]
//       CHECK:   linalg.generic {{.*}}["parallel", "reduction"]
//       CHECK:   linalg.generic {{.*}}["parallel", "parallel"]
//       CHECK:   scf.forall.in_parallel
//   CHECK-NOT: linalg.generic
func.func @row_by_row(%x: tensor<?x64xf32>, %d: index) -> tensor<?x64xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%d) : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x64xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<?x64xf32>, tensor<?xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %q = arith.divf %a, %s : f32
    linalg.yield %q : f32
  } -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Few rows get longer columns, decided where the number of rows is known.
// CHECK-LABEL: func @product
//  CHECK-SAME:   %[[M:[a-z0-9]*]]: index, %[[N:[a-z0-9]*]]: index)
//       CHECK: %[[FEW:.*]] = arith.cmpi ule, %[[M]], %c8
//       CHECK: %[[COLUMNS:.*]] = arith.select %[[FEW]]
//       CHECK: scf.forall {{.*}} to (%[[M]], %[[N]]) step (%{{.*}}, %[[COLUMNS]])
//       CHECK:     tensor.extract_slice %{{.*}} [%{{.*}}, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
//       CHECK:     linalg.fill
//       CHECK:     linalg.generic
func.func @product(%a: tensor<?x64xf32>, %w: tensor<?x64xf32>, %m: index, %n: index) -> tensor<?x?xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<?x64xf32>, tensor<?x64xf32>) outs(%init : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A value that is read outside as well is computed once, in the loops.
// CHECK-LABEL: func @two_results
//       CHECK: %[[LOOP:.*]]:2 = scf.forall
//       CHECK:   math.exp
//   CHECK-NOT:   math.exp
//       CHECK: return %[[LOOP]]#1, %[[LOOP]]#0
func.func @two_results(%x: tensor<?x64xf32>, %d: index) -> (tensor<?x64xf32>, tensor<?xf32>) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%d) : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %q = math.exp %a : f32
    linalg.yield %q : f32
  } -> tensor<?x64xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<?x64xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?xf32>
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#panels = affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>
#out = affine_map<(m, n, k) -> (m, n)>

// Packed weights are cut between panels; a slice of a last panel that is not
// full has all of it. Rows are split evenly, by whole register tiles.
// CHECK-LABEL: func @panels
//  CHECK-SAME:   %[[W:[a-z0-9]*]]: tensor<63x64x16xf32>
//       CHECK: arith.divui %{{.*}}, %c192
//       CHECK: arith.divui %{{.*}}, %c6
//       CHECK: scf.forall
//       CHECK:   tensor.extract_slice %[[W]][%{{.*}}, 0, 0] [%{{.*}}, 64, 16] [1, 1, 1] : tensor<63x64x16xf32> to tensor<?x64x16xf32>
func.func @panels(%a: tensor<?x64xf32>, %w: tensor<63x64x16xf32>, %m: index) -> tensor<?x1000xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x1000xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1000xf32>) -> tensor<?x1000xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<?x64xf32>, tensor<63x64x16xf32>) outs(%init : tensor<?x1000xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<?x1000xf32>
  return %0 : tensor<?x1000xf32>
}
