// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-lower-linalg=vector-bits=512 -canonicalize | FileCheck %s
// RUN: kvern-opt %s -split-input-file -kvern-lower-linalg=vector-bits=128 -canonicalize | FileCheck %s --check-prefix=NARROW

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// What is of a row is read once, before the loop; the end is masked, or left to a
// loop over elements.
// CHECK-LABEL: func @scale
//       CHECK: scf.forall (%[[I:.*]], %{{.*}}) =
//       CHECK:   %[[S:.*]] = memref.load
//       CHECK:   scf.for {{.*}} step %c64
//       CHECK:     vector.load {{.*}} vector<16xf32>
//       CHECK:     vector.broadcast %[[S]]
//       CHECK:   scf.for {{.*}} step %c16
//       CHECK:   scf.if
//       CHECK:     vector.create_mask
//       CHECK:     vector.maskedload
//       CHECK:     vector.maskedstore
// NARROW-LABEL: func @scale
//       NARROW: vector.load {{.*}} vector<4xf32>
//   NARROW-NOT: vector.maskedload
//       NARROW: scf.for {{.*}} step %c1
//       NARROW:   memref.load
func.func @scale(%x: memref<?x?xf32>, %s: memref<?xf32>, %w: memref<?xf32>, %out: memref<?x?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %w : memref<?x?xf32>, memref<?xf32>, memref<?xf32>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Four partial sums, then their sum; a result of the loop itself is stored in it.
// CHECK-LABEL: func @map_and_sum
//       CHECK: scf.forall
//       CHECK:   %[[SUMS:.*]]:4 = scf.for {{.*}} step %c64
//       CHECK:     vector.store
//       CHECK:   arith.addf %[[SUMS]]#0, %[[SUMS]]#1
//       CHECK:   vector.reduction <add>
func.func @map_and_sum(%x: memref<?x128xf32>, %y: memref<?x128xf32>, %out: memref<?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x128xf32>) outs(%y, %out : memref<?x128xf32>, memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %acc : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// -----

#all = affine_map<(i, j) -> (i, j)>

// Bytes are as many to a vector as the widest value allows.
// CHECK-LABEL: func @widen
//       CHECK: vector.load {{.*}} vector<16xbf16>
//       CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
//       CHECK: vector.store {{.*}} vector<16xf32>
func.func @widen(%x: memref<?x?xbf16>, %out: memref<?x?xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xbf16>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %0 = arith.extf %a : bf16 to f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A search: each lane has the best of its elements; then lanes are compared, the
// first of equal ones wins.
// CHECK-LABEL: func @argmax
//       CHECK: scf.for {{.*}} step %c64
//       CHECK:   vector.step
//       CHECK:   arith.select {{.*}} vector<16xf32>
//       CHECK:   arith.select {{.*}} vector<16xi64>
//       CHECK: vector.shuffle
//       CHECK: arith.cmpi slt
//       CHECK: vector.extract
func.func @argmax(%x: memref<?x?xf32>, %best: memref<?xf32>, %at: memref<?xi64>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%best, %at : memref<?xf32>, memref<?xi64>) {
  ^bb0(%a: f32, %b: f32, %i: i64):
    %0 = arith.cmpf ugt, %a, %b : f32
    %1 = arith.cmpf ord, %b, %b : f32
    %2 = arith.andi %0, %1 : i1
    %3 = linalg.index 1 : index
    %4 = arith.index_cast %3 : index to i64
    %5 = arith.select %2, %a, %b : f32
    %6 = arith.select %2, %4, %i : i64
    linalg.yield %5, %6 : f32, i64
  }
  return
}

// -----

// Functions of f64 are calls, element by element.
// CHECK-LABEL: func @f64
//   CHECK-NOT: vector
//       CHECK: math.exp {{.*}} : f64
func.func @f64(%x: memref<?xf64>, %out: memref<?xf64>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf64>) outs(%out : memref<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %0 = math.exp %a : f64
    linalg.yield %0 : f64
  }
  return
}
