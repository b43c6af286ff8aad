// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -split-input-file -kvern-outline-parallel=task-work=1000 -canonicalize -cse | FileCheck %s

// An iteration counts 816 operations, of which memory takes most, and tasks get
// 1000 to 16000; less than 16000 are not shared. The view is made anew in the
// function; the temporary is a block for each worker.
// CHECK-LABEL: func.func @rows
//  CHECK-SAME:   (%[[X:.*]]: memref<?x100xf32>, %[[N:.*]]: index)
//       CHECK:   %[[WORK:.*]] = arith.muli %{{.*}}, %c816
//       CHECK:   %[[SHARE:.*]] = arith.divui %[[WORK]], %c64
//       CHECK:   %[[LEAST:.*]] = arith.maxsi %[[SHARE]], %c1000
//       CHECK:   %[[MOST:.*]] = arith.minsi %[[LEAST]], %c16000
//       CHECK:   %[[LITTLE:.*]] = arith.cmpi slt, %[[WORK]], %c16000
//       CHECK:   arith.select %[[LITTLE]], %{{.*}}, %[[MOST]]
//       CHECK:   %[[GRAIN:.*]] = arith.divui %{{.*}}, %c816
//       CHECK:   %[[TASKS:.*]] = arith.divui %{{.*}}, %[[GRAIN]]
//       CHECK:   %[[WORKERS:.*]] = kvern.host.workers
//       CHECK:   %[[BYTES:.*]] = arith.muli %[[WORKERS]], %c448
//       CHECK:   %[[MEMORY:.*]] = memref.alloc(%[[BYTES]]) {alignment = 64 : i64} : memref<?xi8>
//       CHECK:   kvern.host.parallel_for @rows_loop0, %[[TASKS]], %[[WORK]](%[[X]], {{.*}}, %[[MEMORY]])
//   CHECK-NOT:   scf.forall
//       CHECK: func.func private @rows_loop0(%[[X:.*]]: memref<?x100xf32>, {{.*}}, %[[MEMORY:[a-z0-9]*]]: memref<?xi8>, %[[TASK:[a-z0-9]*]]: index, %[[WORKER:[a-z0-9]*]]: index) attributes {kvern.kernel}
//   CHECK-DAG:   memref.alloca() : memref<1xf32>
//   CHECK-DAG:   %[[OFFSET:.*]] = arith.muli %[[WORKER]], %c448
//   CHECK-DAG:   memref.view %[[MEMORY]][%[[OFFSET]]][] : memref<?xi8> to memref<100xf32>
//       CHECK:   %[[FROM:.*]] = arith.muli %[[TASK]]
//       CHECK:   scf.for %{{.*}} = %[[FROM]] to
//       CHECK:     scf.for
func.func @rows(%x: memref<?x100xf32>, %n: index) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %view = memref.cast %x : memref<?x100xf32> to memref<?x?xf32>
  scf.forall (%i) in (%n) {
    %row = memref.alloc() {alignment = 64 : i64} : memref<100xf32>
    %small = memref.alloca() : memref<1xf32>
    scf.for %j = %c0 to %c100 step %c1 {
      %0 = memref.load %view[%i, %j] : memref<?x?xf32>
      memref.store %0, %row[%j] : memref<100xf32>
    }
    %1 = memref.load %row[%c0] : memref<100xf32>
    memref.store %1, %small[%c0] : memref<1xf32>
    %2 = memref.load %small[%c0] : memref<1xf32>
    memref.store %2, %x[%i, %c0] : memref<?x100xf32>
  }
  return
}

// -----

// An iteration does what the sizes say, and a task is a range of tiles.
// CHECK-LABEL: func.func @tiles
//       CHECK:   %[[WIDTH:.*]] = arith.minsi %{{.*}}, %c32
//       CHECK:   arith.muli %[[WIDTH]], %c576
//       CHECK:   kvern.host.parallel_for @tiles_loop0
//       CHECK: func.func private @tiles_loop0
//       CHECK:   scf.for %[[I:.*]] =
//       CHECK:     %[[FROM:.*]] = arith.maxsi
//       CHECK:     %[[TO:.*]] = arith.minsi
//       CHECK:     scf.for %[[J:.*]] = %[[FROM]] to %[[TO]]
//       CHECK:       arith.muli %[[I]], %c64
//       CHECK:       arith.muli %[[J]], %c32
#min = affine_map<(i)[n] -> (n - i, 32)>
func.func @tiles(%x: memref<?x?xf32>, %m: index, %n: index) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.forall (%i, %j) = (0, 0) to (%m, %n) step (64, 32) {
    %width = affine.min #min(%j)[%n]
    scf.for %a = %c0 to %c64 step %c1 {
      scf.for %b = %c0 to %width step %c1 {
        %p = arith.addi %i, %a : index
        %q = arith.addi %j, %b : index
        %0 = memref.load %x[%p, %q] : memref<?x?xf32>
        %1 = arith.addf %0, %0 : f32
        memref.store %1, %x[%p, %q] : memref<?x?xf32>
      }
    }
  }
  return
}

// -----

// Too little for two tasks, and a loop within a loop: sequential.
// CHECK-LABEL: func.func @small
//       CHECK:   memref.alloca
//       CHECK:   scf.for
//       CHECK:     scf.for
//   CHECK-NOT: parallel_for
func.func @small(%x: memref<10x4xf32>) attributes {kvern.kernel} {
  scf.forall (%i) in (10) {
    %t = memref.alloca() : memref<1xf32>
    %c0 = arith.constant 0 : index
    scf.forall (%j) in (4) {
      %0 = memref.load %x[%i, %j] : memref<10x4xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %t[%c0] : memref<1xf32>
      %2 = memref.load %t[%c0] : memref<1xf32>
      memref.store %2, %x[%i, %j] : memref<10x4xf32>
    }
  }
  return
}

// -----

// A task is known to be one tile: no loop in it.
// CHECK-LABEL: func.func @large
//       CHECK: func.func private @large_loop0(%[[X:.*]]: memref<?x8192xf32>, {{.*}}, %[[TASK:[a-z0-9]*]]: index, %{{[a-z0-9]*}}: index)
//       CHECK:   scf.for
//       CHECK:     memref.load %[[X]][%[[TASK]], %{{.*}}]
//       CHECK:   return
func.func @large(%x: memref<?x8192xf32>, %n: index) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8192 = arith.constant 8192 : index
  scf.forall (%i) in (%n) {
    scf.for %j = %c0 to %c8192 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x8192xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %x[%i, %j] : memref<?x8192xf32>
    }
  }
  return
}

// -----

// Memory that may overlap other memory: the function is no kernel.
// CHECK-LABEL: func.func @either
//       CHECK: func.func private @either_loop0(
//   CHECK-NOT:   kvern.kernel
//       CHECK:   scf.for
func.func @either(%x: memref<?x8192xf32>, %y: memref<?x8192xf32>, %n: index, %c: i1) attributes {kvern.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8192 = arith.constant 8192 : index
  %z = arith.select %c, %x, %y : memref<?x8192xf32>
  scf.forall (%i) in (%n) {
    scf.for %j = %c0 to %c8192 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x8192xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %z[%i, %j] : memref<?x8192xf32>
    }
  }
  return
}
