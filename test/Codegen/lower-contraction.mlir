// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-lower-contraction="vector-bits=512 vector-registers=32" -canonicalize | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Packed for many rows, dot products for few; the fill is not carried out.
// CHECK-LABEL: func @linear
//   CHECK-NOT: linalg.generic
//   CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
//       CHECK: %[[MANY:.*]] = arith.cmpi sgt, %{{.*}}, %c8
//       CHECK: scf.if %[[MANY]]
//       CHECK:   vector.shuffle
//       CHECK:   scf.for {{.*}} step %c14
//       CHECK:     vector.fma {{.*}} vector<16xf32>
//       CHECK:   vector.store
//       CHECK: } else {
//       CHECK:   vector.reduction <add>
func.func @linear(%a: memref<?x64xf32>, %w: memref<32x64xf32>, %out: memref<?x32xf32>) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<?x32xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<?x64xf32>, memref<32x64xf32>) outs(%out : memref<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// One row of bf16: four rows of the matrix are widened, scaled and added.
// CHECK-LABEL: func @one_row
//   CHECK-NOT: memref.alloc
//       CHECK: scf.for {{.*}} step %c4
//       CHECK:   arith.extf {{.*}} vector<16xbf16> to vector<16xf32>
// CHECK-COUNT-4: vector.fma
//       CHECK:   vector.store
func.func @one_row(%a: memref<1x64xbf16>, %w: memref<64x32xbf16>, %out: memref<1x32xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<1x64xbf16>, memref<64x32xbf16>) outs(%out : memref<1x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %wx = arith.extf %x : bf16 to f32
    %wy = arith.extf %y : bf16 to f32
    %p = arith.mulf %wx, %wy : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Not a product.
// CHECK-LABEL: func @other_body
//       CHECK: linalg.generic
func.func @other_body(%a: memref<?x64xf32>, %w: memref<64x32xf32>, %out: memref<?x32xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<?x64xf32>, memref<64x32xf32>) outs(%out : memref<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.addf %x, %y : f32
    %s = arith.maximumf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}
