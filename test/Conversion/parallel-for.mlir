// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -kvern-convert-host-to-llvm | FileCheck %s

// One task is a call; more go through the runtime with what they capture.
// CHECK-LABEL: func.func @loop
//  CHECK-SAME:   %[[X:.*]]: memref<?xf32>, %[[N:.*]]: index
//       CHECK:   %[[MEMORY:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, i64)>
//       CHECK:   %[[SINGLE:.*]] = arith.cmpi eq, %[[N]], %c1
//       CHECK:   scf.if %[[SINGLE]] {
//       CHECK:     func.call @body(%[[X]], %[[N]], %c0, %c0)
//       CHECK:   } else {
//       CHECK:     llvm.getelementptr %[[MEMORY]][0, 0]
//       CHECK:     llvm.store
//       CHECK:     llvm.getelementptr %[[MEMORY]][0, 1]
//       CHECK:     llvm.store
//       CHECK:     %[[TASK:.*]] = llvm.mlir.addressof @body_task
//       CHECK:     llvm.call @kvern_rt_parallel_for(%[[TASK]], %[[MEMORY]], %{{.*}}, %{{.*}})
func.func @loop(%x: memref<?xf32>, %n: index) {
  kvern.host.parallel_for @body, %n, %n(%x, %n) : memref<?xf32>, index
  return
}

func.func private @body(memref<?xf32>, index, index, index)

// CHECK-LABEL: func.func @workers
//       CHECK:   llvm.call @kvern_rt_max_workers() : () -> i64
func.func @workers() -> index {
  %n = kvern.host.workers
  return %n : index
}

//       CHECK: llvm.func internal @body_task(%[[CAPTURED:.*]]: !llvm.ptr, %[[I:.*]]: i64, %[[WORKER:.*]]: i64)
//       CHECK:   llvm.getelementptr %[[CAPTURED]][0, 0]
//       CHECK:   llvm.load
//       CHECK:   builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
//       CHECK:   arith.index_cast %[[I]] : i64 to index
//       CHECK:   arith.index_cast %[[WORKER]] : i64 to index
//       CHECK:   call @body
