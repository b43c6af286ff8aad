// RUN: kvern-opt %s -pass-pipeline='builtin.module(llvm.func(kvern-mark-kernels))' | FileCheck %s

// CHECK: llvm.func @kernel(%arg0: !llvm.ptr {llvm.noalias}, %arg1: i64)
llvm.func @kernel(%x: !llvm.ptr, %n: i64 {kvern.symbol = "d0"}) attributes {kvern.kernel} {
  llvm.return
}
// CHECK: llvm.func @program(%arg0: !llvm.ptr) -> i32
llvm.func @program(%frame: !llvm.ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}
