// RUN: kvern-opt %s -pass-pipeline='builtin.module(kvern-isolate-kernels,builtin.module(kvern-expose-scratch),kvern-plan-workspace,canonicalize,cse)' | FileCheck %s

// The companion computes the bytes of the arena.
// CHECK: func.func @workspace_program(%[[FRAME:.*]]: !llvm.ptr) -> i64
// CHECK: kvern.host.symbol %[[FRAME]][0]

// Three values of one size, of which two live at a time: the third takes the
// memory of the first. The scratch of the kernel is passed to it: that of the first
// call lies where nothing else lives then.

// CHECK-LABEL: func.func @program
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr
func.func @program(%frame: !llvm.ptr) -> i32 attributes {kvern.program = {}} {
  %ok = arith.constant 0 : i32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[N:.*]] = kvern.host.symbol %[[FRAME]][0]
  // CHECK: %[[END_A:.*]] = arith.andi
  // CHECK: %[[END_B:.*]] = arith.addi %[[END_A]], %[[END_A]]
  // CHECK: %[[ARENA:.*]] = kvern.host.workspace %[[FRAME]]
  %n = kvern.host.symbol %frame[0] : !llvm.ptr
  %x = kvern.host.input %frame[0](%n) : !llvm.ptr -> memref<?xf32>
  // CHECK: %[[A:.*]] = memref.view %[[ARENA]][%[[ZERO]]][%[[N]]]
  // CHECK: %[[S:.*]] = memref.view %[[ARENA]][%[[END_A]]][%[[N]]]
  // CHECK: call @kernel(%{{.*}}, %[[A]], %[[N]], %[[S]])
  %a = memref.alloc(%n) : memref<?xf32>
  call @kernel(%x, %a, %n) : (memref<?xf32>, memref<?xf32>, index) -> ()
  // CHECK: %[[B:.*]] = memref.view %[[ARENA]][%[[END_A]]][%[[N]]]
  // CHECK: %[[T:.*]] = memref.view %[[ARENA]][%[[END_B]]][%[[N]]]
  // CHECK: call @kernel(%[[A]], %[[B]], %[[N]], %[[T]])
  %b = memref.alloc(%n) : memref<?xf32>
  call @kernel(%a, %b, %n) : (memref<?xf32>, memref<?xf32>, index) -> ()
  // CHECK: call @kernel(%[[B]], %[[A]], %[[N]], %[[T]])
  %c = memref.alloc(%n) : memref<?xf32>
  call @kernel(%b, %c, %n) : (memref<?xf32>, memref<?xf32>, index) -> ()
  return %ok : i32
}
// CHECK: func.func private @kernel(memref<?xf32>, memref<?xf32>, index, memref<?xi8>)
func.func private @kernel(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {kvern.kernel} {
  %zero = arith.constant 0 : index
  %byte = arith.constant 0 : i8
  %scratch = memref.alloc(%n) : memref<?xi8>
  memref.store %byte, %scratch[%zero] : memref<?xi8>
  return
}

// A kernel that is only declared has no scratch.
// CHECK-LABEL: func.func @declared
// CHECK: call @elsewhere(%{{[^,]*}})
func.func @declared(%frame: !llvm.ptr) -> i32 attributes {kvern.program = {}} {
  %ok = arith.constant 0 : i32
  %x = kvern.host.input %frame[0]() : !llvm.ptr -> memref<4xf32>
  call @elsewhere(%x) : (memref<4xf32>) -> ()
  return %ok : i32
}

func.func private @elsewhere(memref<4xf32>) attributes {kvern.kernel}

// CHECK: func.func @kernel(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: index, %[[OWN:.*]]: memref<?xi8>)
// CHECK: memref.store %{{.*}}, %[[OWN]]
// CHECK-NOT: func.func private @kernel_scratch
