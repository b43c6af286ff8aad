// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Attention keeps its form; sizes are what the caller of the kernel knows.

// CHECK-LABEL: @attention(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: index {kvern.symbol = "b"}, %[[M:[a-z0-9]+]]: index {kvern.symbol = "m"}, %[[N:[a-z0-9]+]]: index {kvern.symbol = "n"}
// CHECK:         %[[Q:.+]] = bufferization.to_tensor
// CHECK:         %[[INIT:.+]] = tensor.empty(%[[B]], %[[N]]) : tensor<?x?x8x40xf32>
// CHECK:         kvern.loop.attention ins(%[[Q]], %{{.+}}, %{{.+}}) mask(%{{.+}}) sinks(%{{.+}}) sizes(%[[B]], %[[N]], %[[M]]) outs(%[[INIT]]) {mask_variant = "causal", scale = 1.250000e-01 : f64}
func.func private @attention(%q: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %k: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %v: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, %mask: !kvern.tensor<[n, m], f32, cpu:0>, %sinks: !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.attention %q, %k, %v mask %mask sinks %sinks {mask_variant = "causal", scale = 0.125 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, !kvern.tensor<[n, m], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return %0 : !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
}

// -----

// CHECK-LABEL: @ragged_attention(
// CHECK:         kvern.loop.attention ins(%{{.+}}, %{{.+}}, %{{.+}}) offsets(%{{.+}}, %{{.+}}) outs(%{{.+}}) {{.*}} : (tensor<?x8x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x8x64xbf16>) -> tensor<?x8x64xbf16>
func.func private @ragged_attention(%q: !kvern.tensor<[t, 8, 64], bf16, cpu:0>, %k: !kvern.tensor<[u, 1, 64], bf16, cpu:0>, %offsets: !kvern.tensor<[b + 1], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.ragged_attention %q, %k, %k, %offsets, %offsets {scale = 0.125 : f64} : (!kvern.tensor<[t, 8, 64], bf16, cpu:0>, !kvern.tensor<[u, 1, 64], bf16, cpu:0>, !kvern.tensor<[u, 1, 64], bf16, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0>
  return %0 : !kvern.tensor<[t, 8, 64], bf16, cpu:0>
}

// -----

// CHECK-LABEL: @rope(
// CHECK:         kvern.loop.rope ins(%{{.+}}, %{{.+}}) positions(%{{.+}}) outs(%{{.+}}) {interleaved} : (tensor<?x8x64xbf16>, tensor<100x32xf32>, tensor<?xi64>, tensor<?x8x64xbf16>) -> tensor<?x8x64xbf16>
func.func private @rope(%x: !kvern.tensor<[t, 8, 64], bf16, cpu:0>, %table: !kvern.tensor<[100, 32], f32, cpu:0>, %p: !kvern.tensor<[t], i64, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.rope %x, %table positions %p {interleaved} : (!kvern.tensor<[t, 8, 64], bf16, cpu:0>, !kvern.tensor<[100, 32], f32, cpu:0>, !kvern.tensor<[t], i64, cpu:0>) -> !kvern.tensor<[t, 8, 64], bf16, cpu:0>
  return %0 : !kvern.tensor<[t, 8, 64], bf16, cpu:0>
}

// -----

// Without queries there is nothing to compute.

// CHECK-LABEL: @empty(
// CHECK-NOT:     kvern.loop
func.func private @empty(%q: !kvern.tensor<[2, 0, 8, 64], f32, cpu:0>, %k: !kvern.tensor<[2, m, 8, 64], f32, cpu:0>) -> !kvern.tensor<[2, 0, 8, 64], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.attention %q, %k, %k {scale = 0.125 : f64} : (!kvern.tensor<[2, 0, 8, 64], f32, cpu:0>, !kvern.tensor<[2, m, 8, 64], f32, cpu:0>, !kvern.tensor<[2, m, 8, 64], f32, cpu:0>) -> !kvern.tensor<[2, 0, 8, 64], f32, cpu:0>
  return %0 : !kvern.tensor<[2, 0, 8, 64], f32, cpu:0>
}
