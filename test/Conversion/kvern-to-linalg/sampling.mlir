// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Sampling keeps its form; the size of the vocabulary is what the caller of the
// kernel knows.

// CHECK-LABEL: @sample_tokens(
// CHECK-SAME:    %{{[a-z0-9]+}}: index {kvern.symbol = "b"}, %[[V:[a-z0-9]+]]: index {kvern.symbol = "v"}
// CHECK:         %[[LOGITS:.+]] = bufferization.to_tensor %{{.+}} : memref<?x?xf32>
// CHECK:         kvern.loop.sample_tokens ins(%[[LOGITS]], {{.*}}) sizes(%[[V]]) outs(%{{.+}}, %{{.+}}) {{.*}} -> (tensor<?xi64>, tensor<?xf32>)
func.func private @sample_tokens(%logits: !kvern.tensor<[b, v], f32, cpu:0>, %f: !kvern.tensor<[b], f32, cpu:0>, %k: !kvern.tensor<[b], i64, cpu:0>, %u: !kvern.tensor<[b], ui64, cpu:0>) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) attributes {kvern.kernel} {
  %0:2 = kvern.sample_tokens %logits, %f, %k, %f, %f, %u, %u {with_logprobs} : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>)
  return %0#0, %0#1 : !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>
}

// -----

// CHECK-LABEL: @filter_logits(
// CHECK:         kvern.loop.filter_logits ins({{.*}}) sizes(%{{.+}}) outs(%{{.+}}) : {{.*}} -> tensor<?x?xf32>
func.func private @filter_logits(%logits: !kvern.tensor<[b, v], f32, cpu:0>, %f: !kvern.tensor<[b], f32, cpu:0>, %k: !kvern.tensor<[b], i64, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.filter_logits %logits, %f, %k, %f, %f : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
  return %0 : !kvern.tensor<[b, v], f32, cpu:0>
}

// -----

// CHECK-LABEL: @penalties(
// CHECK:         kvern.loop.apply_penalties ins({{.*}}) outs(%{{.+}}) : {{.*}} -> tensor<?x512xf32>
// CHECK:         kvern.loop.count_tokens ins({{.*}}) outs(%{{.+}}) : {{.*}} -> tensor<?x2xi32>
func.func private @penalties(%logits: !kvern.tensor<[b, 512], f32, cpu:0>, %data: !kvern.tensor<[n, 2], i32, cpu:0>, %offsets: !kvern.tensor<[b + 1], ui32, cpu:0>, %f: !kvern.tensor<[b], f32, cpu:0>, %tokens: !kvern.tensor<[b], i64, cpu:0>) -> (!kvern.tensor<[b, 512], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>) attributes {kvern.kernel} {
  %0 = kvern.apply_penalties %logits, %data, %offsets, %f, %f, %f : (!kvern.tensor<[b, 512], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, 512], f32, cpu:0>
  %1 = kvern.count_tokens %data, %offsets, %tokens : (!kvern.tensor<[n, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>) -> !kvern.tensor<[n, 2], i32, cpu:0>
  return %0, %1 : !kvern.tensor<[b, 512], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>
}

// -----

// A random number is arithmetic on its seed and position: ten rounds.

// CHECK-LABEL: @uniform(
// CHECK:         linalg.generic
// CHECK-COUNT-20:  arith.muli
// CHECK:           arith.uitofp %{{.+}} : i64 to f32
func.func private @uniform(%u: !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.random_uniform %u, %u {stream = 1 : i64} : (!kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
  return %0 : !kvern.tensor<[b], f32, cpu:0>
}

// -----

// Without rows there is nothing to sample.

// CHECK-LABEL: @empty(
// CHECK-NOT:     kvern.loop
func.func private @empty(%logits: !kvern.tensor<[0, 8], f32, cpu:0>, %f: !kvern.tensor<[0], f32, cpu:0>, %k: !kvern.tensor<[0], i64, cpu:0>, %u: !kvern.tensor<[0], ui64, cpu:0>) -> !kvern.tensor<[0], i64, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.sample_tokens %logits, %f, %k, %f, %f, %u, %u : (!kvern.tensor<[0, 8], f32, cpu:0>, !kvern.tensor<[0], f32, cpu:0>, !kvern.tensor<[0], i64, cpu:0>, !kvern.tensor<[0], f32, cpu:0>, !kvern.tensor<[0], f32, cpu:0>, !kvern.tensor<[0], ui64, cpu:0>, !kvern.tensor<[0], ui64, cpu:0>) -> !kvern.tensor<[0], i64, cpu:0>
  return %0 : !kvern.tensor<[0], i64, cpu:0>
}
