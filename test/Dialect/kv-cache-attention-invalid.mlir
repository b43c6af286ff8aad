// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @paged_attention_c1(%q: !kvern.tensor<[t, 3, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_attention' op expected q of shape [tokens, a multiple of 2, 8], but got [t, 3, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_attention %q, %o, %c, %l {scale = 1.0 : f64} : (!kvern.tensor<[t, 3, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 3, 8], f32, cpu:0>
  return
}

// -----

func.func @paged_attention_c2(%q: !kvern.tensor<[t, 4, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_attention' op expected value_dim 0, since the cache has values, but got 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_attention %q, %o, %c, %l {scale = 1.0 : f64, value_dim = 4 : i64} : (!kvern.tensor<[t, 4, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}

// -----

func.func @paged_attention_c2_latent(%q: !kvern.tensor<[t, 4, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_attention' op expected value_dim from 1 to the head_dim of the latent cache, but got 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_attention %q, %o, %c, %l {scale = 1.0 : f64, value_dim = 9 : i64} : (!kvern.tensor<[t, 4, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}

// -----

func.func @paged_attention_c3(%q: !kvern.tensor<[t, 4, 8], f64, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_attention' op expected q of element type f32, bf16 or f16, as caches have them, but got f64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_attention %q, %o, %c, %l {scale = 1.0 : f64} : (!kvern.tensor<[t, 4, 8], f64, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f64, cpu:0>
  return
}

// -----

func.func @latent_attention_c1(%q: !kvern.tensor<[t, 4, 5], f32, cpu:0>, %w: !kvern.tensor<[20, 6], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.latent_attention' op expected a latent cache, but got one of keys and values}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.latent_attention %q, %w, %o, %c, %l {value_dim = 2 : i64, scale = 1.0 : f64} : (!kvern.tensor<[t, 4, 5], f32, cpu:0>, !kvern.tensor<[20, 6], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 2], f32, cpu:0>
  return
}

// -----

func.func @latent_attention_c2(%q: !kvern.tensor<[t, 4, 2], f32, cpu:0>, %w: !kvern.tensor<[20, 6], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.latent_attention' op expected q of shape [tokens, heads, nope + rope], rope being the head_dim of the cache (8) without the columns of kv_b, but got [t, 4, 2] and kv_b of shape [20, 6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.latent_attention %q, %w, %o, %c, %l {value_dim = 2 : i64, scale = 1.0 : f64} : (!kvern.tensor<[t, 4, 2], f32, cpu:0>, !kvern.tensor<[20, 6], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 2], f32, cpu:0>
  return
}

// -----

func.func @latent_attention_c3(%q: !kvern.tensor<[t, 4, 5], f32, cpu:0>, %w: !kvern.tensor<[21, 6], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.latent_attention' op expected kv_b of shape [20, latent], heads * (nope + value_dim) rows, but got [21, 6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.latent_attention %q, %w, %o, %c, %l {value_dim = 2 : i64, scale = 1.0 : f64} : (!kvern.tensor<[t, 4, 5], f32, cpu:0>, !kvern.tensor<[21, 6], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 2], f32, cpu:0>
  return
}

// -----

func.func @kv_copy_pages_c1(%a: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %b: !kvern.buffer<[r, 2, 2, 4, 2, 9], f32, cpu:0>, %x: !kvern.tensor<[n], ui32, cpu:0>, %y: !kvern.tensor<[n], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_copy_pages' op expected buffers of one element type, and equal sizes but for the first, but got '!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>' and '!kvern.buffer<[r, 2, 2, 4, 2, 9], f32, cpu:0>'}}
  kvern.kv_copy_pages %a, %b, %x, %y : !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.buffer<[r, 2, 2, 4, 2, 9], f32, cpu:0>, !kvern.tensor<[n], ui32, cpu:0>, !kvern.tensor<[n], ui32, cpu:0>
  return
}

// -----

func.func @kv_copy_pages_c2(%a: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %b: !kvern.buffer<[r, 2, 2, 4, 2, 8], f32, cpu:0>, %x: !kvern.tensor<[n], ui32, cpu:0>, %y: !kvern.tensor<[k], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_copy_pages' op expected lists of pages of rank 1 and one size, but got shapes [n] and [k]}}
  kvern.kv_copy_pages %a, %b, %x, %y : !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.buffer<[r, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[n], ui32, cpu:0>, !kvern.tensor<[k], ui32, cpu:0>
  return
}

// -----

func.func @kv_copy_pages_c3(%a: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %b: !kvern.buffer<[r, 2, 2, 4, 2, 8], f32, cpu:0>, %x: !kvern.tensor<[n], ui32, cpu:0>, %y: !kvern.tensor<[n], ui32, gpu:0>) {
  // expected-error @+1 {{'kvern.kv_copy_pages' op expected operands on one device, but got cpu:0 and gpu:0}}
  kvern.kv_copy_pages %a, %b, %x, %y : !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.buffer<[r, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[n], ui32, cpu:0>, !kvern.tensor<[n], ui32, gpu:0>
  return
}

// -----

func.func @loop_kv_store_c1(%k: memref<?x2x7xf32>, %v: memref<?x2x7xf32>, %o: memref<?xi32>, %n: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>, %p: memref<?x2x2x4x2x8xf32>) {
  // expected-error @+1 {{'kvern.loop.kv_store' op expected rows of rank 3 and pages of rank 6 with equal static last sizes, but got pages of 'memref<?x2x2x4x2x8xf32>'}}
  kvern.loop.kv_store ins(%k, %o, %n, %t, %l) values(%v) cache(%p) {cache_type = f32} : (memref<?x2x7xf32>, memref<?x2x7xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x2x4x2x8xf32>) -> ()
  return
}

// -----

func.func @loop_kv_store_c2(%k: memref<?x2x8xf32>, %v: memref<?x2x8xf32>, %o: memref<?xi32>, %n: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>, %q: memref<?x2x8xf32>, %f: memref<9x8xf32>, %p: memref<?x2x2x4x2x8xf32>) {
  // expected-error @+1 {{'kvern.loop.kv_store' op expected q, freqs and a result, or none of them}}
  kvern.loop.kv_store ins(%k, %o, %n, %t, %l) values(%v) rope(%q, %f) cache(%p) {cache_type = f32} : (memref<?x2x8xf32>, memref<?x2x8xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x8xf32>, memref<9x8xf32>, memref<?x2x2x4x2x8xf32>) -> ()
  return
}
