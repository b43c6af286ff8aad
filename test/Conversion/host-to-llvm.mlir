// RUN: kvern-opt %s -kvern-convert-host-to-llvm | FileCheck %s

// CHECK-LABEL: func.func @program
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr
func.func @program(%frame: !llvm.ptr) -> i32 attributes {kvern.program = {}} {
  %ok = arith.constant 0 : i32
  // The dimension values are the third field of the frame.
  // CHECK: %[[FIELD:.*]] = llvm.getelementptr %[[FRAME]][2]
  // CHECK: %[[SYMBOLS:.*]] = llvm.load %[[FIELD]]
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[SYMBOLS]][0]
  // CHECK: %[[VALUE:.*]] = llvm.load %[[FIRST]] : !llvm.ptr -> i64
  // CHECK: arith.index_cast %[[VALUE]] : i64 to index
  %n = kvern.host.symbol %frame[0] : !llvm.ptr
  // CHECK: builtin.unrealized_conversion_cast %{{.*}} to memref<?x4xf32>
  %x = kvern.host.input %frame[0](%n) : !llvm.ptr -> memref<?x4xf32>
  %zero = arith.constant 0 : index
  %holds = arith.cmpi sgt, %n, %zero : index
  // CHECK: cf.cond_br %{{.*}}, ^[[REST:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
  kvern.host.check %frame, %holds[0](%n) : !llvm.ptr
  // CHECK: ^[[REST]]:
  // CHECK: llvm.call @kvern_rt_output(%[[FRAME]]
  %y = kvern.host.output %frame[0](%n) : !llvm.ptr -> memref<?x4xf32>
  // CHECK: llvm.call @kvern_rt_step(%[[FRAME]], %{{.*}})
  kvern.host.step %frame[3] : !llvm.ptr
  memref.copy %x, %y : memref<?x4xf32> to memref<?x4xf32>
  return %ok : i32
  // CHECK: ^[[FAIL]]:
  // CHECK: llvm.call @kvern_rt_fail(%[[FRAME]]
  // CHECK: return %{{.*}} : i32
}
