// RUN: kvern-opt %s -canonicalize -split-input-file | FileCheck %s

// Log-probabilities that nobody reads are not computed.

// CHECK-LABEL: @unread(
// CHECK:         %[[TOKENS:.+]] = kvern.sample_tokens {{.*}} {stream = 3 : i64} : {{.*}} -> !kvern.tensor<[b], i64, cpu:0>
// CHECK-NEXT:    return %[[TOKENS]]
func.func @unread(%logits: !kvern.tensor<[b, v], f32, cpu:0>, %f: !kvern.tensor<[b], f32, cpu:0>, %k: !kvern.tensor<[b], i64, cpu:0>, %u: !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], i64, cpu:0> {
  %0:2 = kvern.sample_tokens %logits, %f, %k, %f, %f, %u, %u {stream = 3 : i64, with_logprobs} : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>)
  return %0#0 : !kvern.tensor<[b], i64, cpu:0>
}

// -----

// CHECK-LABEL: @read(
// CHECK:         %[[BOTH:.+]]:2 = kvern.sample_tokens {{.*}} {with_logprobs}
// CHECK-NEXT:    return %[[BOTH]]#1
func.func @read(%logits: !kvern.tensor<[b, v], f32, cpu:0>, %f: !kvern.tensor<[b], f32, cpu:0>, %k: !kvern.tensor<[b], i64, cpu:0>, %u: !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0> {
  %0:2 = kvern.sample_tokens %logits, %f, %k, %f, %f, %u, %u {with_logprobs} : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>)
  return %0#1 : !kvern.tensor<[b], f32, cpu:0>
}
