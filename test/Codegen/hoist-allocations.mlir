// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -allow-unregistered-dialect -split-input-file -verify-diagnostics -kvern-hoist-allocations=max-stack-bytes=256 -lower-affine -canonicalize | FileCheck %s

// CHECK-LABEL: func @tile
//  CHECK-SAME:   %[[D:.*]]: index
//   CHECK-DAG: %[[SMALL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
//   CHECK-DAG: %[[LARGE:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65xf32>
//   CHECK-DAG: %[[ROWS:.*]] = arith.minsi %[[D]], %c128
//   CHECK-DAG: %[[BYTES:.*]] = arith.muli %[[ROWS]], %c4
//       CHECK: %[[TILE:.*]] = memref.alloc(%[[BYTES]]) {alignment = 64 : i64} : memref<?xi8>
//       CHECK: scf.for
//   CHECK-NOT:   memref.alloc
//       CHECK:   memref.view %[[TILE]]
func.func @tile(%d: index) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %d step %c128 {
    %small = memref.alloc() : memref<64xf32>
    %large = memref.alloc() : memref<65xf32>
    %size = affine.min affine_map<(i)[d] -> (d - i, 128)>(%i)[%d]
    %tile = memref.alloc(%size) : memref<?xf32>
    "test.use"(%small, %large, %tile) : (memref<64xf32>, memref<65xf32>, memref<?xf32>) -> ()
  }
  return
}

// -----

func.func @unknown(%x: memref<index>) attributes {kvern.kernel} {
  %size = memref.load %x[] : memref<index>
  // expected-error @below {{has a size that is not bounded by the kernel's arguments}}
  %0 = memref.alloc(%size) : memref<?xf32>
  "test.use"(%0) : (memref<?xf32>) -> ()
  return
}
