// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @program
func.func @program(%frame: !llvm.ptr, %ok: i1) -> i32 {
  // CHECK: %[[N:.*]] = kvern.host.symbol %arg0[0] : !llvm.ptr
  %n = kvern.host.symbol %frame[0] : !llvm.ptr
  // CHECK: kvern.host.input %arg0[0] (%[[N]]) : !llvm.ptr -> memref<?x64xf32>
  %x = kvern.host.input %frame[0](%n) : !llvm.ptr -> memref<?x64xf32>
  // CHECK: kvern.host.input %arg0[1] () : !llvm.ptr -> memref<i8>
  %y = kvern.host.input %frame[1]() : !llvm.ptr -> memref<i8>
  // CHECK: kvern.host.weight %arg0[3] : !llvm.ptr -> memref<32x64xf32>
  %w = kvern.host.weight %frame[3] : !llvm.ptr -> memref<32x64xf32>
  // CHECK: kvern.host.output %arg0[0] (%[[N]], %[[N]]) : !llvm.ptr -> memref<?x32x?xf32>
  %z = kvern.host.output %frame[0](%n, %n) : !llvm.ptr -> memref<?x32x?xf32>
  // CHECK: kvern.host.workspace %arg0, %[[N]] : !llvm.ptr -> memref<?xi8>
  %a = kvern.host.workspace %frame, %n : !llvm.ptr -> memref<?xi8>
  // CHECK: kvern.host.alloc %arg0, %[[N]] : !llvm.ptr -> memref<?xi8>
  %b = kvern.host.alloc %frame, %n : !llvm.ptr -> memref<?xi8>
  // CHECK: kvern.host.check %arg0, %arg1[2] (%[[N]], %[[N]]) : !llvm.ptr
  kvern.host.check %frame, %ok[2](%n, %n) : !llvm.ptr
  // CHECK: kvern.host.check %arg0, %arg1[0] () : !llvm.ptr
  kvern.host.check %frame, %ok[0]() : !llvm.ptr
  %zero = arith.constant 0 : i32
  return %zero : i32
}
