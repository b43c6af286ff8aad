// RUN: kvern-opt %s | kvern-opt | FileCheck %s

!cache = !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
!latent = !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, bf16, cpu:0>
!rows = !kvern.tensor<[t, 2, 8], f32, cpu:0>
!queries = !kvern.tensor<[t, 4, 8], f32, cpu:0>
!offsets = !kvern.tensor<[b + 1], ui32, cpu:0>
!layer = !kvern.tensor<[], ui32, cpu:0>
!lengths = !kvern.tensor<[b], ui32, cpu:0>
!table = !kvern.tensor<[b, most], ui32, cpu:0>
!bound = !kvern.tensor<[1], ui32, cpu:0>

// CHECK-LABEL: @bundle(
// CHECK:         kvern.paged_cache %{{[^:]+}} : {{.*}} -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
func.func @bundle(%blocks: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %lengths: !lengths, %table: !table, %bound: !bound) {
  %0 = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound : (!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !lengths, !table, !bound, !bound) -> !cache
  return
}

// CHECK-LABEL: @bundle_scaled(
// CHECK:         kvern.paged_cache %{{.+}} scales %{{.+}} -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 32, i8, scales = 16, cpu:0>
func.func @bundle_scaled(%blocks: !kvern.buffer<[p, 2, 2, 4, 2, 32], i8, cpu:0>, %scales: !kvern.buffer<[p, 2, 2, 4, 2, 2], f32, cpu:0>, %lengths: !lengths, %table: !table, %bound: !bound) {
  %0 = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound scales %scales : (!kvern.buffer<[p, 2, 2, 4, 2, 32], i8, cpu:0>, !lengths, !table, !bound, !bound, !kvern.buffer<[p, 2, 2, 4, 2, 2], f32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 32, i8, scales = 16, cpu:0>
  return
}

// CHECK-LABEL: @stores(
// CHECK:         kvern.kv_store %{{[a-z0-9]+}} values %{{[a-z0-9]+}}, %
// CHECK:         kvern.kv_store %{{[a-z0-9]+}}, %
// CHECK:         kvern.rope_store %{{.+}} {interleaved} :
// CHECK:         kvern.qkv_project_store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} bias %{{.+}} {query_heads = 4 : i64} :
func.func @stores(%k: !rows, %c: !kvern.tensor<[t, 1, 8], f32, cpu:0>, %q: !queries, %offsets: !offsets, %cache: !cache, %latent: !latent, %layer: !layer, %freqs: !kvern.tensor<[9, 4], f32, cpu:0>, %x: !kvern.tensor<[t, 16], f32, cpu:0>, %w: !kvern.tensor<[64, 16], f32, cpu:0>, %bias: !kvern.tensor<[64], f32, cpu:0>) {
  kvern.kv_store %k values %k, %offsets, %cache, %layer : (!rows, !rows, !offsets, !cache, !layer) -> ()
  kvern.kv_store %c, %offsets, %latent, %layer : (!kvern.tensor<[t, 1, 8], f32, cpu:0>, !offsets, !latent, !layer) -> ()
  %0 = kvern.rope_store %q, %k, %k, %offsets, %freqs, %cache, %layer {interleaved} : (!queries, !rows, !rows, !offsets, !kvern.tensor<[9, 4], f32, cpu:0>, !cache, !layer) -> !queries
  %1 = kvern.qkv_project_store %x, %w bias %bias, %offsets, %cache, %layer {query_heads = 4 : i64} : (!kvern.tensor<[t, 16], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>, !offsets, !cache, !layer) -> !queries
  return
}

// CHECK-LABEL: @attends(
// CHECK:         kvern.paged_attention %{{.+}} sinks %{{.+}} {mask_variant = "sliding_window_causal", scale = 1.250000e-01 : f64, softcap = 3.000000e+00 : f64, window = 7 : i64} :
// CHECK:         kvern.paged_attention %{{.+}} {scale = 1.000000e+00 : f64, value_dim = 6 : i64} : {{.*}} -> !kvern.tensor<[t, 4, 6], f32, cpu:0>
// CHECK:         kvern.latent_attention %{{.+}} {scale = 1.000000e+00 : f64, value_dim = 2 : i64} : {{.*}} -> !kvern.tensor<[t, 4, 2], f32, cpu:0>
func.func @attends(%q: !queries, %offsets: !offsets, %cache: !cache, %latent: !latent, %layer: !layer, %sinks: !kvern.tensor<[4], f32, cpu:0>, %r: !kvern.tensor<[t, 4, 5], f32, cpu:0>, %w: !kvern.tensor<[20, 6], f32, cpu:0>) {
  %0 = kvern.paged_attention %q, %offsets, %cache, %layer sinks %sinks {mask_variant = "sliding_window_causal", scale = 0.125 : f64, softcap = 3.0 : f64, window = 7 : i64} : (!queries, !offsets, !cache, !layer, !kvern.tensor<[4], f32, cpu:0>) -> !queries
  %1 = kvern.paged_attention %q, %offsets, %latent, %layer {scale = 1.0 : f64, value_dim = 6 : i64} : (!queries, !offsets, !latent, !layer) -> !kvern.tensor<[t, 4, 6], f32, cpu:0>
  %2 = kvern.latent_attention %r, %w, %offsets, %latent, %layer {value_dim = 2 : i64, scale = 1.0 : f64} : (!kvern.tensor<[t, 4, 5], f32, cpu:0>, !kvern.tensor<[20, 6], f32, cpu:0>, !offsets, !latent, !layer) -> !kvern.tensor<[t, 4, 2], f32, cpu:0>
  return
}

// CHECK-LABEL: @copies(
// CHECK:         kvern.kv_copy_pages %{{.+}} : !kvern.buffer<[p, 8], f32, cpu:0>, !kvern.buffer<[n, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>
func.func @copies(%from: !kvern.buffer<[p, 8], f32, cpu:0>, %to: !kvern.buffer<[n, 8], f32, cpu:0>, %pages: !lengths) {
  kvern.kv_copy_pages %from, %to, %pages, %pages : !kvern.buffer<[p, 8], f32, cpu:0>, !kvern.buffer<[n, 8], f32, cpu:0>, !lengths, !lengths
  return
}

// CHECK-LABEL: @loops(
// CHECK:         kvern.loop.kv_store ins(%{{[^()]+}}) values(%{{.+}}) cache(%{{.+}}) {cache_type = f32} :
// CHECK:         kvern.loop.kv_store ins(%{{[^()]+}}) cache(%{{.+}}) {cache_type = f32} :
func.func @loops(%k: memref<?x2x8xf32>, %o: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>, %p: memref<?x2x2x4x2x8xf32>) {
  kvern.loop.kv_store ins(%k, %o, %o, %t, %l) values(%k) cache(%p) {cache_type = f32} : (memref<?x2x8xf32>, memref<?x2x8xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x2x4x2x8xf32>) -> ()
  kvern.loop.kv_store ins(%k, %o, %o, %t, %l) cache(%p) {cache_type = f32} : (memref<?x2x8xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x2x4x2x8xf32>) -> ()
  return
}
