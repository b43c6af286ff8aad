// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// CHECK-LABEL: func @loop
//       CHECK:   %[[N:.*]] = kvern.host.workers
//       CHECK:   kvern.host.parallel_for @body, %{{.*}}, %{{.*}}(%{{.*}}, %[[N]]) : memref<?xf32>, index
//       CHECK:   kvern.host.parallel_for @nothing, %{{.*}}, %{{.*}}()
func.func @loop(%x: memref<?xf32>, %tasks: index) {
  %n = kvern.host.workers
  kvern.host.parallel_for @body, %tasks, %n(%x, %n) : memref<?xf32>, index
  kvern.host.parallel_for @nothing, %tasks, %n()
  return
}
func.func private @body(memref<?xf32>, index, index, index)
func.func private @nothing(index, index)
