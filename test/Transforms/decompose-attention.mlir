// RUN: kvern-opt %s -kvern-decompose-attention | FileCheck %s

!q = !kvern.tensor<[b, n, 8, 64], bf16, cpu:0>
!k = !kvern.tensor<[b, m, 2, 64], bf16, cpu:0>
!v = !kvern.tensor<[b, m, 2, 40], bf16, cpu:0>
!out = !kvern.tensor<[b, n, 8, 40], bf16, cpu:0>

// Heads that share keys are rows of one product; all is computed in f32.

// CHECK-LABEL: @plain(
// CHECK:         kvern.cast %{{.+}} {dtype = f32}
// CHECK:         kvern.permute {{.*}} -> !kvern.tensor<[b, 2, 4, n, 64], f32, cpu:0>
// CHECK:         %[[S:.+]] = kvern.matmul %{{.+}}, %{{.+}} {transpose_rhs} : {{.*}} -> !kvern.tensor<[b, 2, n * 4, m], f32, cpu:0>
// CHECK:         kvern.mul
// CHECK-NOT:     kvern.range
// CHECK:         %[[MAX:.+]] = kvern.reduce_max
// CHECK:         %[[E:.+]] = kvern.exp
// CHECK:         %[[SUM:.+]] = kvern.sum %[[E]]
// CHECK:         kvern.div %[[E]]
// CHECK:         kvern.matmul {{.*}} -> !kvern.tensor<[b, 2, n * 4, 40], f32, cpu:0>
// CHECK:         kvern.cast %{{.+}} {dtype = bf16}
func.func @plain(%q: !q, %k: !k, %v: !v) -> !out {
  %0 = kvern.attention %q, %k, %v {scale = 0.125 : f64} : (!q, !k, !v) -> !out
  return %0 : !out
}

// The positions of the queries end where the keys end.

// CHECK-LABEL: @all(
// CHECK:         kvern.tanh
// CHECK:         kvern.add
// CHECK:         kvern.shape_to_tensor {{.*}}shape = #kvern.shape<[m - n]>
// CHECK:         %[[CAUSAL:.+]] = kvern.greater_equal
// CHECK:         %[[NEAR:.+]] = kvern.greater
// CHECK:         kvern.logical_and
// CHECK:         kvern.where
// CHECK:         kvern.reduce_max
// CHECK:         kvern.max
func.func @all(%q: !q, %k: !k, %v: !v, %mask: !kvern.tensor<[n, m], bf16, cpu:0>, %sinks: !kvern.tensor<[8], bf16, cpu:0>) -> !out {
  %0 = kvern.attention %q, %k, %v mask %mask sinks %sinks {mask_variant = "sliding_window_causal", scale = 0.125 : f64, softcap = 30.0 : f64, window = 16 : i64} : (!q, !k, !v, !kvern.tensor<[n, m], bf16, cpu:0>, !kvern.tensor<[8], bf16, cpu:0>) -> !out
  return %0 : !out
}
