// RUN: kvern-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected layers, page_size, heads and head_dim above 0, but got 0, 4, 2 and 8}}
func.func private @paged_cache_type_c1(!kvern.paged_cache<[b], layers = 0, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>)

// -----

// expected-error @+1 {{expected scales with a cache of element type i8, but got none}}
func.func private @paged_cache_type_c2(!kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, i8, cpu:0>)

// -----

func.func @paged_cache_c1(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, gpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected operands on one device, but got cpu:0 and gpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c : (!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, gpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c2(%b: !kvern.buffer<[p, 2, n, 4, 2, 8], f32, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected blocks of shape [pages, 2 or 1, layers, page_size, heads, head_dim], static but for the pages, but got [p, 2, n, 4, 2, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c : (!kvern.buffer<[p, 2, n, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c3(%b: !kvern.buffer<[p, 3, 2, 4, 2, 8], f32, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected blocks whose second size is 2, for keys and values, or 1, but got [p, 3, 2, 4, 2, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c : (!kvern.buffer<[p, 3, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c4(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[c, m], ui32, cpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected cache_lengths of shape [sequences] and a table of shape [sequences, pages], but got [b] and [c, m]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c : (!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[c, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c5(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %p: !kvern.tensor<[2], ui32, cpu:0>, %c: !kvern.tensor<[2], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected max_prompt_length and max_cache_length of one element, but got shape [2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c : (!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[2], ui32, cpu:0>, !kvern.tensor<[2], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c6(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], i8, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>, %s: !kvern.buffer<[p, 2, 2, 4, 2, 3], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected scales of the sizes of blocks [p, 2, 2, 4, 2, 8] but for the last, which divides it, but got [p, 2, 2, 4, 2, 3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c scales %s : (!kvern.buffer<[p, 2, 2, 4, 2, 8], i8, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.buffer<[p, 2, 2, 4, 2, 3], f32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}

// -----

func.func @paged_cache_c7(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], i8, cpu:0>, %l: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %p: !kvern.tensor<[1], ui32, cpu:0>, %c: !kvern.tensor<[1], ui32, cpu:0>, %s: !kvern.buffer<[p, 2, 2, 4, 2, 1], f16, cpu:0>) {
  // expected-error @+2 {{'kvern.paged_cache' op expected scales of element type f32, but got '!kvern.buffer<[p, 2, 2, 4, 2, 1], f16, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.paged_cache %b, %l, %t, %p, %c scales %s : (!kvern.buffer<[p, 2, 2, 4, 2, 8], i8, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.buffer<[p, 2, 2, 4, 2, 1], f16, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  return
}
