// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// The ops take the memory and the tables of the cache; the value itself is
// gone.

!cache = !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, bf16, cpu:0>
!blocks = !kvern.buffer<[p, 2, 2, 4, 2, 8], bf16, cpu:0>
!rows = !kvern.tensor<[t, 2, 8], f32, cpu:0>
!queries = !kvern.tensor<[t, 4, 8], f32, cpu:0>
!offsets = !kvern.tensor<[b + 1], ui32, cpu:0>
!layer = !kvern.tensor<[], ui32, cpu:0>
!lengths = !kvern.tensor<[b], ui32, cpu:0>
!table = !kvern.tensor<[b, most], ui32, cpu:0>
!bound = !kvern.tensor<[1], ui32, cpu:0>

// CHECK-LABEL: @store(
// CHECK-NOT:     kvern.paged_cache
// CHECK:         kvern.loop.kv_store ins(%{{[^()]+}}) values(%{{.+}}) cache(%{{.+}}) {cache_type = bf16} : {{.*}}memref<?x2x2x4x2x8xbf16>{{.*}} -> ()
func.func private @store(%k: !rows, %offsets: !offsets, %blocks: !blocks, %lengths: !lengths, %table: !table, %bound: !bound, %layer: !layer) attributes {kvern.kernel} {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound : (!blocks, !lengths, !table, !bound, !bound) -> !cache
  kvern.kv_store %k values %k, %offsets, %cache, %layer : (!rows, !rows, !offsets, !cache, !layer) -> ()
  return
}

// CHECK-LABEL: @rope(
// CHECK:         %[[INIT:.+]] = tensor.empty(%{{.+}}) : tensor<?x4x8xf32>
// CHECK:         kvern.loop.kv_store ins(%{{[^()]+}}) values(%{{.+}}) rope(%{{.+}}, %{{.+}}) cache(%{{.+}}) outs(%[[INIT]]) {cache_type = bf16, interleaved} :
func.func private @rope(%q: !queries, %k: !rows, %freqs: !kvern.tensor<[9, 8], f32, cpu:0>, %offsets: !offsets, %blocks: !blocks, %lengths: !lengths, %table: !table, %bound: !bound, %layer: !layer) -> !queries attributes {kvern.kernel} {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound : (!blocks, !lengths, !table, !bound, !bound) -> !cache
  %0 = kvern.rope_store %q, %k, %k, %offsets, %freqs, %cache, %layer {interleaved} : (!queries, !rows, !rows, !offsets, !kvern.tensor<[9, 8], f32, cpu:0>, !cache, !layer) -> !queries
  return %0 : !queries
}

// Sizes are the sequences, the tokens, and the most pages of a sequence.

// CHECK-LABEL: @attention(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: index {kvern.symbol = "b"}, %[[MOST:[a-z0-9]+]]: index {kvern.symbol = "most"}, %{{[a-z0-9]+}}: index {kvern.symbol = "p"}, %[[T:[a-z0-9]+]]: index {kvern.symbol = "t"}
// CHECK:         kvern.loop.attention ins(%{{.+}}, %[[P:.+]], %[[P]]) offsets(%{{.+}}) paged(%{{.+}}, %{{.+}}, %{{.+}}) sizes(%[[B]], %[[T]], %[[MOST]]) outs(%{{.+}}) {cache_type = bf16, mask_variant = "causal", scale = 1.250000e-01 : f64} :
func.func private @attention(%q: !queries, %offsets: !offsets, %blocks: !blocks, %lengths: !lengths, %table: !table, %bound: !bound, %layer: !layer) -> !queries attributes {kvern.kernel} {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound : (!blocks, !lengths, !table, !bound, !bound) -> !cache
  %0 = kvern.paged_attention %q, %offsets, %cache, %layer {mask_variant = "causal", scale = 0.125 : f64} : (!queries, !offsets, !cache, !layer) -> !queries
  return %0 : !queries
}
