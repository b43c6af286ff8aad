// RUN: kvern-opt %s -kvern-expose-scratch -split-input-file -verify-diagnostics | FileCheck %s

// Allocations of the entry block become arguments. The companion makes them out
// of the index arguments; those on the stack stay.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %{{.*}}: index, %[[BYTES:.*]]: memref<?xi8>, %[[FIXED:.*]]: memref<512x512xf32>)
// CHECK-NOT: memref.alloc(
// CHECK: memref.alloca()
// CHECK: memref.store %{{.*}}, %[[BYTES]]
// CHECK: memref.store %{{.*}}, %[[FIXED]]
func.func @kernel(%x: memref<?xf32>, %n: index) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %byte = arith.constant 0 : i8
  %float = arith.constant 0.0 : f32
  %bytes = arith.muli %n, %four : index
  %a = memref.alloc(%bytes) {alignment = 64 : i64} : memref<?xi8>
  %b = memref.alloc() : memref<512x512xf32>
  %c = memref.alloca() : memref<4xf32>
  memref.store %byte, %a[%zero] : memref<?xi8>
  memref.store %float, %b[%zero, %zero] : memref<512x512xf32>
  memref.store %float, %c[%zero] : memref<4xf32>
  return
}

// CHECK-LABEL: func.func private @kernel_scratch
// CHECK-SAME: (%[[N:.*]]: index) -> (memref<?xi8>, memref<512x512xf32>) attributes {kvern.scratch = @kernel}
// CHECK: %[[SIZE:.*]] = arith.muli %[[N]]
// CHECK: %[[A:.*]] = memref.alloc(%[[SIZE]]) {alignment = 64 : i64}
// CHECK: %[[B:.*]] = memref.alloc()
// CHECK: return %[[A]], %[[B]]

// -----

func.func @kernel(%x: memref<?xf32>) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  // expected-error @+1 {{has a size that the caller cannot know}}
  %a = memref.alloc(%n) : memref<?xi8>
  return
}
