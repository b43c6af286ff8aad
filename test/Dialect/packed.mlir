// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @pack
// CHECK: kvern.pack %{{.*}} {panel = 16 : i64} : (!kvern.tensor<[64, 100], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
func.func @pack(%w: !kvern.tensor<[64, 100], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0> {
  %0 = kvern.pack %w {panel = 16 : i64} : (!kvern.tensor<[64, 100], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
  return %0 : !kvern.tensor<[7, 64, 16], f32, cpu:0>
}

// CHECK-LABEL: func.func @pack_transposed
// CHECK: kvern.pack %{{.*}} {panel = 32 : i64, transposed} : (!kvern.tensor<[32, 65], bf16, cpu:0>) -> !kvern.tensor<[1, 65, 32], bf16, cpu:0>
func.func @pack_transposed(%w: !kvern.tensor<[32, 65], bf16, cpu:0>) -> !kvern.tensor<[1, 65, 32], bf16, cpu:0> {
  %0 = kvern.pack %w {panel = 32 : i64, transposed} : (!kvern.tensor<[32, 65], bf16, cpu:0>) -> !kvern.tensor<[1, 65, 32], bf16, cpu:0>
  return %0 : !kvern.tensor<[1, 65, 32], bf16, cpu:0>
}

// CHECK-LABEL: func.func @packed_matmul
// CHECK: kvern.packed_matmul %{{.*}}, %{{.*}} {columns = 97 : i64} : (!kvern.tensor<[b, m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[b, m, 97], f32, cpu:0>
func.func @packed_matmul(%x: !kvern.tensor<[b, m, 64], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[b, m, 97], f32, cpu:0> {
  %0 = kvern.packed_matmul %x, %p {columns = 97 : i64} : (!kvern.tensor<[b, m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[b, m, 97], f32, cpu:0>
  return %0 : !kvern.tensor<[b, m, 97], f32, cpu:0>
}

// CHECK-LABEL: func.func @pack_any
// CHECK: kvern.pack {{.*}} -> !kvern.tensor<[(n + 15) floordiv 16, k, 16], f32, cpu:0>
func.func @pack_any(%w: !kvern.tensor<[n, k], f32, cpu:0>) -> !kvern.tensor<[(n + 15) floordiv 16, k, 16], f32, cpu:0> {
  %0 = kvern.pack %w {panel = 16 : i64, transposed} : (!kvern.tensor<[n, k], f32, cpu:0>) -> !kvern.tensor<[(n + 15) floordiv 16, k, 16], f32, cpu:0>
  return %0 : !kvern.tensor<[(n + 15) floordiv 16, k, 16], f32, cpu:0>
}

// CHECK-LABEL: func.func @packed_matmul_widens
// CHECK: kvern.packed_matmul %{{.*}}, %{{.*}} {columns = 97 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], bf16, cpu:0>) -> !kvern.tensor<[m, 97], f32, cpu:0>
func.func @packed_matmul_widens(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], bf16, cpu:0>) -> !kvern.tensor<[m, 97], f32, cpu:0> {
  %0 = kvern.packed_matmul %x, %p {columns = 97 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], bf16, cpu:0>) -> !kvern.tensor<[m, 97], f32, cpu:0>
  return %0 : !kvern.tensor<[m, 97], f32, cpu:0>
}

// CHECK-LABEL: func.func @packed_gather
// CHECK: kvern.packed_gather %{{.*}}, %{{.*}} {columns = 100 : i64} : (!kvern.tensor<[7, 64, 16], bf16, cpu:0>, !kvern.tensor<[b, n], ui32, cpu:0>) -> !kvern.tensor<[b, n, 64], bf16, cpu:0>
func.func @packed_gather(%p: !kvern.tensor<[7, 64, 16], bf16, cpu:0>, %i: !kvern.tensor<[b, n], ui32, cpu:0>) -> !kvern.tensor<[b, n, 64], bf16, cpu:0> {
  %0 = kvern.packed_gather %p, %i {columns = 100 : i64} : (!kvern.tensor<[7, 64, 16], bf16, cpu:0>, !kvern.tensor<[b, n], ui32, cpu:0>) -> !kvern.tensor<[b, n, 64], bf16, cpu:0>
  return %0 : !kvern.tensor<[b, n, 64], bf16, cpu:0>
}
