// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-fuse-elementwise | FileCheck %s

#id = affine_map<(i) -> (i)>

// A chain of elementwise ops becomes one.
// CHECK-LABEL: func @chain
//       CHECK: linalg.generic
//       CHECK:   math.exp
//       CHECK:   arith.negf
//   CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> attributes {kvern.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %3 = arith.negf %a : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#first = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// exp would be computed once for each j.
// CHECK-LABEL: func @not_repeated
//       CHECK: linalg.generic
//       CHECK:   math.exp
//       CHECK: linalg.generic
//       CHECK:   arith.addf
func.func @not_repeated(%x: tensor<?xf32>, %y: tensor<?x?xf32>, %e: tensor<?xf32>) -> tensor<?x?xf32> attributes {kvern.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#first, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %3 = arith.addf %a, %out : f32
    linalg.yield %3 : f32
  } -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>

// The bias is added in the product's output.
// CHECK-LABEL: func @in_place
//       CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}}"reduction"
//       CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32xf32>) outs(%[[PRODUCT]] : tensor<?x32xf32>)
func.func @in_place(%a: tensor<?x8xf32>, %w: tensor<32x8xf32>, %bias: tensor<32xf32>, %init: tensor<?x32xf32>, %d: index) -> tensor<?x32xf32> attributes {kvern.kernel} {
  %0 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<?x8xf32>, tensor<32x8xf32>) outs(%init : tensor<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %1, %acc : f32
    linalg.yield %2 : f32
  } -> tensor<?x32xf32>
  %e = tensor.empty(%d) : tensor<?x32xf32>
  %3 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<?x32xf32>, tensor<32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %4 = arith.addf %x, %y : f32
    linalg.yield %4 : f32
  } -> tensor<?x32xf32>
  return %3 : tensor<?x32xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A map that is summed and read again is computed by the sum; its reader works in
// place.
// CHECK-LABEL: func @map_and_sum
//       CHECK: %[[BOTH:.*]]:2 = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}}outs(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?xf32>)
//       CHECK:   math.exp
//       CHECK:   arith.addf
//       CHECK: linalg.generic {{.*}} ins(%[[BOTH]]#1 : tensor<?xf32>) outs(%[[BOTH]]#0 : tensor<?x8xf32>)
//   CHECK-NOT: linalg.generic
func.func @map_and_sum(%x: tensor<?x8xf32>, %d: index) -> tensor<?x8xf32> attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %er = tensor.empty(%d) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %3 = math.exp %a : f32
    linalg.yield %3 : f32
  } -> tensor<?x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<?x8xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %3 = arith.addf %a, %acc : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %3 = arith.mulf %a, %s : f32
    linalg.yield %3 : f32
  } -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
