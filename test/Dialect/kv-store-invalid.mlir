// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @kv_cache_c1(%k: !kvern.tensor<[t, 2, 8], f32, gpu:0>, %v: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected operands on the device of the cache (cpu:0), but got one on gpu:0}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, gpu:0>, !kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_cache_c2(%k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %v: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected offsets of shape [b + 1], one more than the sequences of the cache, but got [b]}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_cache_c3(%k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %v: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[1], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected a layer of rank 0, but got shape [1]}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_store_c1(%k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %v: !kvern.tensor<[t, 2, 7], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected k and v of shape [tokens, 2, 8], but got [t, 2, 7]}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[t, 2, 7], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_store_c1_tokens(%k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %v: !kvern.tensor<[s, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected k and v of shape [tokens, 2, 8], but got [s, 2, 8]}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[s, 2, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_store_c2(%k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected a v, since the cache is not latent}}
  kvern.kv_store %k, %o, %c, %l : (!kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @kv_store_c2_latent(%k: !kvern.tensor<[t, 1, 8], f32, cpu:0>, %v: !kvern.tensor<[t, 1, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+1 {{'kvern.kv_store' op expected no v, since the cache is latent}}
  kvern.kv_store %k values %v, %o, %c, %l : (!kvern.tensor<[t, 1, 8], f32, cpu:0>, !kvern.tensor<[t, 1, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
  return
}

// -----

func.func @rope_store_c1(%q: !kvern.tensor<[t, 3, 8], f32, cpu:0>, %k: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %v: !kvern.tensor<[t, 2, 8], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %f: !kvern.tensor<[9, 8], f32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.rope_store' op expected q of shape [tokens, a multiple of 2, 8] with the tokens of k, but got [t, 3, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope_store %q, %k, %v, %o, %f, %c, %l : (!kvern.tensor<[t, 3, 8], f32, cpu:0>, !kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[t, 2, 8], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[9, 8], f32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 3, 8], f32, cpu:0>
  return
}

// -----

func.func @qkv_project_store_c1(%h: !kvern.tensor<[t, 16], f32, cpu:0>, %w: !kvern.tensor<[63, 16], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.qkv_project_store' op expected hidden of shape [tokens, columns] and a weight of shape [64, columns], but got [t, 16] and [63, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.qkv_project_store %h, %w, %o, %c, %l {query_heads = 4 : i64} : (!kvern.tensor<[t, 16], f32, cpu:0>, !kvern.tensor<[63, 16], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}

// -----

func.func @qkv_project_store_c2(%h: !kvern.tensor<[t, 16], f32, cpu:0>, %w: !kvern.tensor<[64, 16], f32, cpu:0>, %b: !kvern.tensor<[16], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.qkv_project_store' op expected a bias of shape [64], but got [16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.qkv_project_store %h, %w bias %b, %o, %c, %l {query_heads = 4 : i64} : (!kvern.tensor<[t, 16], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>, !kvern.tensor<[16], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}

// -----

func.func @qkv_project_store_c3(%h: !kvern.tensor<[t, 16], f32, cpu:0>, %w: !kvern.tensor<[64, 16], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.qkv_project_store' op expected a cache of keys and values, but got a latent one}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.qkv_project_store %h, %w, %o, %c, %l {query_heads = 4 : i64} : (!kvern.tensor<[t, 16], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 1, head_dim = 8, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}

// -----

func.func @qkv_project_store_c4(%h: !kvern.tensor<[t, 16], f32, cpu:0>, %w: !kvern.tensor<[64, 16], f32, cpu:0>, %o: !kvern.tensor<[b + 1], ui32, cpu:0>, %c: !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, %l: !kvern.tensor<[], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.qkv_project_store' op expected query_heads to be a multiple of the heads of the cache (2), above 0, but got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.qkv_project_store %h, %w, %o, %c, %l {query_heads = 3 : i64} : (!kvern.tensor<[t, 16], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  return
}
