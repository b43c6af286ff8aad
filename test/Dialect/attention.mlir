// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!q = !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
!k = !kvern.tensor<[b, m, 2, 64], f32, cpu:0>
!v = !kvern.tensor<[b, m, 2, 40], f32, cpu:0>
!out = !kvern.tensor<[b, n, 8, 40], f32, cpu:0>

// CHECK-LABEL: @attention(
func.func @attention(%q: !q, %k: !k, %v: !v, %mask: !kvern.tensor<[8, n, 1], f32, cpu:0>, %sinks: !kvern.tensor<[8], f32, cpu:0>) {
  // CHECK: kvern.attention %{{.+}}, %{{.+}}, %{{.+}} {scale = 1.250000e-01 : f64} :
  %0 = kvern.attention %q, %k, %v {scale = 0.125 : f64} : (!q, !k, !v) -> !out
  // CHECK: kvern.attention {{.*}} {mask_variant = "causal", scale = 1.250000e-01 : f64} :
  %1 = kvern.attention %q, %k, %v {mask_variant = "causal", scale = 0.125 : f64} : (!q, !k, !v) -> !out
  // CHECK: kvern.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} sinks %{{.+}} {mask_variant = "sliding_window_causal", scale = 1.250000e-01 : f64, softcap = 3.000000e+01 : f64, window = 16 : i64} :
  %2 = kvern.attention %q, %k, %v mask %mask sinks %sinks {mask_variant = "sliding_window_causal", scale = 0.125 : f64, softcap = 30.0 : f64, window = 16 : i64} : (!q, !k, !v, !kvern.tensor<[8, n, 1], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !out
  return
}

// CHECK-LABEL: @ragged_attention(
func.func @ragged_attention(%q: !kvern.tensor<[t, 8, 64], bf16, cpu:0>, %k: !kvern.tensor<[u, 1, 64], bf16, cpu:0>, %offsets: !kvern.tensor<[b + 1], ui32, cpu:0>, %sinks: !kvern.tensor<[8], bf16, cpu:0>) {
  // CHECK: kvern.ragged_attention {{.*}} sinks %{{.+}} {mask_variant = "chunked_causal", scale = 1.250000e-01 : f64, window = 4 : i64} :
  %0 = kvern.ragged_attention %q, %k, %k, %offsets, %offsets sinks %sinks {mask_variant = "chunked_causal", scale = 0.125 : f64, window = 4 : i64} : (!kvern.tensor<[t, 8, 64], bf16, cpu:0>, !kvern.tensor<[u, 1, 64], bf16, cpu:0>, !kvern.tensor<[u, 1, 64], bf16, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[8], bf16, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0>
  return
}

// CHECK-LABEL: @rope(
func.func @rope(%x: !kvern.tensor<[t, 8, 64], bf16, cpu:0>, %table: !kvern.tensor<[100, 32], f32, cpu:0>, %positions: !kvern.tensor<[t], i64, cpu:0>) {
  // CHECK: kvern.rope %{{.+}}, %{{.+}} {interleaved} :
  %0 = kvern.rope %x, %table {interleaved} : (!kvern.tensor<[t, 8, 64], bf16, cpu:0>, !kvern.tensor<[100, 32], f32, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0>
  // CHECK: kvern.rope %{{.+}}, %{{.+}} positions %{{.+}} :
  %1 = kvern.rope %x, %table positions %positions : (!kvern.tensor<[t, 8, 64], bf16, cpu:0>, !kvern.tensor<[100, 32], f32, cpu:0>, !kvern.tensor<[t], i64, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0>
  return
}

// CHECK-LABEL: @loops(
func.func @loops(%q: tensor<2x?x8x64xf32>, %k: tensor<2x?x2x64xf32>, %out: tensor<2x?x8x64xf32>, %n: index, %memory: memref<?x8x64xf32>, %keys: memref<?x2x64xf32>, %offsets: memref<?xi32>) {
  %c2 = arith.constant 2 : index
  // CHECK: kvern.loop.attention ins(%{{.+}}, %{{.+}}, %{{.+}}) sizes(%{{.+}}, %{{.+}}, %{{.+}}) outs(%{{.+}}) {scale = 1.250000e-01 : f64}
  %0 = kvern.loop.attention ins(%q, %k, %k) sizes(%c2, %n, %n) outs(%out) {scale = 0.125 : f64} : (tensor<2x?x8x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x2x64xf32>, index, index, index, tensor<2x?x8x64xf32>) -> tensor<2x?x8x64xf32>
  // CHECK: kvern.loop.attention ins(%{{.+}}, %{{.+}}, %{{.+}}) offsets(%{{.+}}, %{{.+}}) outs(%{{.+}}) {{.*}} -> ()
  kvern.loop.attention ins(%memory, %keys, %keys) offsets(%offsets, %offsets) outs(%memory) {scale = 0.125 : f64} : (memref<?x8x64xf32>, memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32>, memref<?xi32>, memref<?x8x64xf32>) -> ()
  return
}

// Reads inputs, writes the result.

// CHECK-LABEL: @effects(
func.func @effects(%x: memref<?x8x64xf32>, %table: memref<9x64xf32>, %out: memref<?x8x64xf32>) {
  // CHECK: kvern.loop.rope ins(%{{.+}}, %{{.+}}) outs(%{{.+}}) {interleaved}
  kvern.loop.rope ins(%x, %table) outs(%out) {interleaved} : (memref<?x8x64xf32>, memref<9x64xf32>, memref<?x8x64xf32>) -> ()
  return
}
