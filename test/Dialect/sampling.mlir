// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!logits = !kvern.tensor<[b, v], f32, cpu:0>
!f = !kvern.tensor<[b], f32, cpu:0>
!i = !kvern.tensor<[b], i64, cpu:0>
!u = !kvern.tensor<[b], ui64, cpu:0>
!data = !kvern.tensor<[n, 2], i32, cpu:0>
!offsets = !kvern.tensor<[b + 1], ui32, cpu:0>

// CHECK-LABEL: @sample_tokens(
func.func @sample_tokens(%logits: !logits, %f: !f, %i: !i, %u: !u) {
  // CHECK: kvern.sample_tokens %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : ({{.*}}) -> !kvern.tensor<[b], i64, cpu:0>
  %0 = kvern.sample_tokens %logits, %f, %i, %f, %f, %u, %u : (!logits, !f, !i, !f, !f, !u, !u) -> !i
  // CHECK: kvern.sample_tokens {{.*}} {stream = 1 : i64, with_logprobs} : ({{.*}}) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>)
  %1:2 = kvern.sample_tokens %logits, %f, %i, %f, %f, %u, %u {stream = 1 : i64, with_logprobs} : (!logits, !f, !i, !f, !f, !u, !u) -> (!i, !f)
  // CHECK: kvern.random_uniform %{{.+}}, %{{.+}} :
  %2 = kvern.random_uniform %u, %u : (!u, !u) -> !f
  // CHECK: kvern.filter_logits %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} :
  %3 = kvern.filter_logits %logits, %f, %i, %f, %f : (!logits, !f, !i, !f, !f) -> !logits
  return
}

// CHECK-LABEL: @penalties(
func.func @penalties(%logits: !logits, %data: !data, %offsets: !offsets, %f: !f, %tokens: !i) {
  // CHECK: kvern.apply_penalties %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} :
  %0 = kvern.apply_penalties %logits, %data, %offsets, %f, %f, %f : (!logits, !data, !offsets, !f, !f, !f) -> !logits
  // CHECK: kvern.count_tokens %{{.+}}, %{{.+}}, %{{.+}} :
  %1 = kvern.count_tokens %data, %offsets, %tokens : (!data, !offsets, !i) -> !data
  return
}

// CHECK-LABEL: @loops(
func.func @loops(%logits: tensor<?x512xf32>, %f: tensor<?xf32>, %i: tensor<?xi64>, %v: index) {
  // CHECK: kvern.loop.sample_tokens ins({{.*}}) sizes(%{{.+}}) outs(%{{.+}}, %{{.+}}) {stream = 1 : i64} :
  %0:2 = kvern.loop.sample_tokens ins(%logits, %f, %i, %f, %f, %i, %i) sizes(%v) outs(%i, %f) {stream = 1 : i64} : (tensor<?x512xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, index, tensor<?xi64>, tensor<?xf32>) -> (tensor<?xi64>, tensor<?xf32>)
  return
}

// CHECK-LABEL: @buffers(
func.func @buffers(%data: memref<?x2xi32>, %offsets: memref<?xi32>, %tokens: memref<?xi64>) {
  // CHECK: kvern.loop.count_tokens ins({{.*}}) outs(%{{.+}}) :
  kvern.loop.count_tokens ins(%data, %offsets, %tokens) outs(%data) : (memref<?x2xi32>, memref<?xi32>, memref<?xi64>, memref<?x2xi32>) -> ()
  return
}
