// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-tile-and-fuse -canonicalize -cse | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#all = affine_map<(i, j) -> (i, j)>

// Two products of the same rows, and what joins them, tile by tile.
// CHECK-LABEL: func @twins
//       CHECK: scf.forall
//       CHECK:   linalg.generic {{.*}}"reduction"
//       CHECK:   linalg.generic {{.*}}"reduction"
//       CHECK:   arith.mulf %{{.*}}, %{{.*}} : f32
//       CHECK:   tensor.parallel_insert_slice
//   CHECK-NOT: linalg.generic
func.func @twins(%x: tensor<?x64xf32>, %a: tensor<500x64xf32>, %b: tensor<500x64xf32>, %m: index) -> tensor<?x500xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x500xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x500xf32>) -> tensor<?x500xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %a : tensor<?x64xf32>, tensor<500x64xf32>) outs(%init : tensor<?x500xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %3, %acc : f32
    linalg.yield %4 : f32
  } -> tensor<?x500xf32>
  %1 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %b : tensor<?x64xf32>, tensor<500x64xf32>) outs(%init : tensor<?x500xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %3, %acc : f32
    linalg.yield %4 : f32
  } -> tensor<?x500xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<?x500xf32>, tensor<?x500xf32>) outs(%e : tensor<?x500xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %3 = arith.mulf %p, %q : f32
    linalg.yield %3 : f32
  } -> tensor<?x500xf32>
  return %2 : tensor<?x500xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// What has two results is computed once a tile, also when one of them is where
// the last op works.
// CHECK-LABEL: func @both_results
//       CHECK: scf.forall
//       CHECK:   linalg.generic {{.*}}"reduction"
//       CHECK:     math.exp
//   CHECK-NOT:     math.exp
//       CHECK:   arith.mulf
//       CHECK:   tensor.parallel_insert_slice
//   CHECK-NOT: linalg.generic
func.func @both_results(%x: tensor<?x64xf32>, %d: index) -> tensor<?x64xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%d) : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %0:2 = linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x64xf32>) outs(%e, %init : tensor<?x64xf32>, tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %2 = math.exp %a : f32
    %3 = arith.addf %2, %acc : f32
    linalg.yield %2, %3 : f32, f32
  } -> (tensor<?x64xf32>, tensor<?xf32>)
  %1 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0#1 : tensor<?xf32>) outs(%0#0 : tensor<?x64xf32>) {
  ^bb0(%s: f32, %out: f32):
    %2 = arith.mulf %out, %s : f32
    linalg.yield %2 : f32
  } -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
