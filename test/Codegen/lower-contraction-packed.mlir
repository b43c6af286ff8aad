// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-lower-contraction="vector-bits=512 vector-registers=32 l2-bytes=1048576" -canonicalize -cse | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#panels = affine_map<(m, n, k) -> (n floordiv 32, k, n mod 32)>
#out = affine_map<(m, n, k) -> (m, n)>

// One row: four panels are read side by side, from start to end, then the
// panels that are left. Nothing is packed, and lhs is read where it lies.
// CHECK-LABEL: func @one_row
//   CHECK-NOT: memref.alloc
//       CHECK: scf.for %[[P:.*]] = %c0 to %c8 step %c4
//       CHECK:   scf.for %[[K:.*]] = %c0 to %c64 step %c4
// CHECK-COUNT-32:  vector.fma {{.*}} vector<16xf32>
//   CHECK-NOT:     vector.fma
//       CHECK:   vector.store
//   CHECK-NOT: linalg.generic
func.func @one_row(%a: memref<1x64xf32>, %w: memref<8x64x32xf32>, %out: memref<1x256xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<1x64xf32>, memref<8x64x32xf32>) outs(%out : memref<1x256xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#panels = affine_map<(m, n, k) -> (n floordiv 32, k, n mod 32)>
#out = affine_map<(m, n, k) -> (m, n)>

// Rows that are 4096 bytes apart are packed; the panels are not. While a tile is
// summed, the next part of rhs is fetched. The last tile has two rows.
// CHECK-LABEL: func @many_rows
//       CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: scf.for %{{.*}} = %c0 to %c1024 step %c256
//       CHECK:   scf.for %[[P:.*]] = %c0 to %c2 step %c1
//       CHECK:     scf.for %{{.*}} = %c0 to %c28 step %c14
//       CHECK:       %{{.*}}:28 = scf.for %{{.*}} step %c1 iter_args
//       CHECK:         memref.prefetch {{.*}} read, locality<2>
//       CHECK:         vector.load %{{.*}}[%[[P]], %{{.*}}] : memref<2x1024x32xf32>, vector<16xf32>
//       CHECK:     %{{.*}}:4 = scf.for %{{.*}} step %c4
//   CHECK-NOT: scf.for
func.func @many_rows(%a: memref<30x1024xf32>, %w: memref<2x1024x32xf32>, %out: memref<30x64xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<30x1024xf32>, memref<2x1024x32xf32>) outs(%out : memref<30x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#panels = affine_map<(m, n, k) -> (n floordiv 32, k, n mod 32)>
#out = affine_map<(m, n, k) -> (m, n)>

// Any number of rows, of bf16, with a last panel that is not full: lhs is
// widened when it is packed, panels when they are read, and stores are masked.
// Rows that are left take one of six smaller tiles.
// CHECK-LABEL: func @any_rows
//       CHECK: %[[FEW:.*]] = arith.cmpi slt, %{{.*}}, %c5
//       CHECK: scf.if %[[FEW]]
//       CHECK:   scf.index_switch
//       CHECK:   case 1
//       CHECK:     arith.extf {{.*}} vector<16xbf16> to vector<16xf32>
//       CHECK:     vector.maskedstore
//       CHECK:   case 2
//       CHECK:   default
//       CHECK: } else {
//       CHECK:   scf.for {{.*}} step %c14
//       CHECK:   scf.index_switch
//       CHECK:   case 1
//       CHECK:   case 6
//       CHECK:     arith.extf {{.*}} vector<16xbf16> to vector<16xf32>
//   CHECK-NOT: case 7
func.func @any_rows(%a: memref<?x64xbf16>, %w: memref<2x64x32xbf16>, %out: memref<?x40xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<?x64xbf16>, memref<2x64x32xbf16>) outs(%out : memref<?x40xf32>) {
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
#panels = affine_map<(m, n, k) -> (n floordiv 24, k, n mod 24)>
#out = affine_map<(m, n, k) -> (m, n)>

// Panels that no whole number of vectors fills are left as they are.
// CHECK-LABEL: func @other_panels
//       CHECK: linalg.generic
func.func @other_panels(%a: memref<?x64xf32>, %w: memref<2x64x24xf32>, %out: memref<?x40xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<?x64xf32>, memref<2x64x24xf32>) outs(%out : memref<?x40xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}
