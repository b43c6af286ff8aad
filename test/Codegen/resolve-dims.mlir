// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -kvern-resolve-dims -canonicalize | FileCheck %s

#id = affine_map<(i) -> (i)>

// The size of %x is that of the result, which is %d.
// CHECK-LABEL: func @through_operands
//  CHECK-SAME:   %[[D:[a-z0-9]*]]: index
//   CHECK-NOT: tensor.dim
//       CHECK: return %{{.*}}, %[[D]]
func.func @through_operands(%x: tensor<?xf32>, %d: index) -> (tensor<?xf32>, index) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%d) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  return %0, %size : tensor<?xf32>, index
}
