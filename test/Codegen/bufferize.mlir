// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -kvern-bufferize -canonicalize -cse | FileCheck %s

#id = affine_map<(i) -> (i)>

// The result is computed where it goes.
// CHECK-LABEL: func @in_output
//  CHECK-SAME:   %[[X:[a-z0-9]*]]: memref<?xf32>, %[[OUT:[a-z0-9]*]]: memref<?xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<?xf32>) outs(%[[OUT]] : memref<?xf32>)
//   CHECK-NOT: memref.copy
func.func @in_output(%x: memref<?xf32>, %out: memref<?xf32>, %d: index) attributes {kvern.kernel} {
  %0 = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = arith.negf %a : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}

// So is that of an op with loops inside.
// CHECK-LABEL: func @loop
//  CHECK-SAME:   %[[X:[a-z0-9]*]]: memref<?x8x64xf32>, %[[TABLE:[a-z0-9]*]]: memref<9x64xf32>, %[[OUT:[a-z0-9]*]]: memref<?x8x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: kvern.loop.rope ins(%[[X]], %[[TABLE]]) outs(%[[OUT]]) {interleaved} : (memref<?x8x64xf32>, memref<9x64xf32>, memref<?x8x64xf32>) -> ()
//   CHECK-NOT: memref.copy
func.func @loop(%x: memref<?x8x64xf32>, %table: memref<9x64xf32>, %out: memref<?x8x64xf32>, %d: index) attributes {kvern.kernel} {
  %0 = bufferization.to_tensor %x restrict : memref<?x8x64xf32> to tensor<?x8x64xf32>
  %1 = bufferization.to_tensor %table restrict : memref<9x64xf32> to tensor<9x64xf32>
  %e = tensor.empty(%d) : tensor<?x8x64xf32>
  %2 = kvern.loop.rope ins(%0, %1) outs(%e) {interleaved} : (tensor<?x8x64xf32>, tensor<9x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
  bufferization.materialize_in_destination %2 in restrict writable %out : (tensor<?x8x64xf32>, memref<?x8x64xf32>) -> ()
  return
}
