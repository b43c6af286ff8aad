// RUN: kvern-opt %s -pass-pipeline='builtin.module(func.func(kvern-hoist-allocations{max-stack-bytes=64}))' -split-input-file -verify-diagnostics | FileCheck %s

// A small temporary goes to the stack, one whose size changes from tile to tile is
// bytes for the largest tile.
// CHECK-LABEL: func.func private @temporaries
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK-DAG: %[[BYTES:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xi8>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: memref.view %[[BYTES]]
func.func private @temporaries(%n: index) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %step = arith.constant 256 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %zero to %n step %step {
    %small = memref.alloc() : memref<4xf32>
    memref.store %one, %small[%zero] : memref<4xf32>
    %size = affine.min affine_map<(d0)[s0] -> (s0 - d0, 256)>(%i)[%n]
    %tile = memref.alloc(%size) : memref<?xf32>
    memref.store %one, %tile[%zero] : memref<?xf32>
  }
  return
}

// -----

func.func private @unbounded(%a: memref<?xindex>) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %size = memref.load %a[%zero] : memref<?xindex>
  // expected-error @+1 {{has a size that is not bounded by the kernel's arguments}}
  %tile = memref.alloc(%size) : memref<?xf32>
  return
}
