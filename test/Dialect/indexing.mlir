// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s


// CHECK-LABEL: func.func @gather
func.func @gather(%x: !kvern.tensor<[1000, 64], bf16, cpu:0>, %i: !kvern.tensor<[b, n], i64, cpu:0>, %u: !kvern.tensor<[0], ui32, cpu:0>, %scalar: !kvern.tensor<[], i32, cpu:0>) {
  // CHECK: kvern.gather %arg0, %arg1 {axis = 0 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[b, n], i64, cpu:0>) -> !kvern.tensor<[b, n, 64], bf16, cpu:0>
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[b, n], i64, cpu:0>) -> !kvern.tensor<[b, n, 64], bf16, cpu:0>
  // CHECK: kvern.gather %arg0, %arg1 {axis = 1 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[b, n], i64, cpu:0>) -> !kvern.tensor<[1000, b, n], bf16, cpu:0>
  %1 = kvern.gather %x, %i {axis = 1 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[b, n], i64, cpu:0>) -> !kvern.tensor<[1000, b, n], bf16, cpu:0>
  // CHECK: kvern.gather %arg0, %arg2 {axis = 1 : i64} : {{.*}} -> !kvern.tensor<[1000, 0], bf16, cpu:0>
  %2 = kvern.gather %x, %u {axis = 1 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[0], ui32, cpu:0>) -> !kvern.tensor<[1000, 0], bf16, cpu:0>
  // CHECK: kvern.gather %arg0, %arg3 {axis = 0 : i64} : {{.*}} -> !kvern.tensor<[64], bf16, cpu:0>
  %3 = kvern.gather %x, %scalar {axis = 0 : i64} : (!kvern.tensor<[1000, 64], bf16, cpu:0>, !kvern.tensor<[], i32, cpu:0>) -> !kvern.tensor<[64], bf16, cpu:0>
  return
}

// CHECK-LABEL: func.func @bools
func.func @bools(%x: !kvern.tensor<[n], i1, cpu:0>, %i: !kvern.tensor<[1], ui64, cpu:0>) -> !kvern.tensor<[1], i1, cpu:0> {
  // CHECK: kvern.gather %arg0, %arg1 {axis = 0 : i64} : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[1], ui64, cpu:0>) -> !kvern.tensor<[1], i1, cpu:0>
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[1], ui64, cpu:0>) -> !kvern.tensor<[1], i1, cpu:0>
  return %0 : !kvern.tensor<[1], i1, cpu:0>
}
