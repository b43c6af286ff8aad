// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @attention_c1(%a0: !kvern.tensor<[n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected q, k and v of rank 4, but got [n, 8, 64], [b, m, 2, 64] and [b, m, 2, 40]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c2(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, l, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected k and v to have equal sizes but for the last, but got [b, m, 2, 64] and [b, l, 2, 40], which are not provably equal; rebind one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, l, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c3(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, h, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, h, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected static numbers of heads and head sizes of 1 or more, but got [b, m, h, 64]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, h, 64], f32, cpu:0>, !kvern.tensor<[b, m, h, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c3_zero(%a0: !kvern.tensor<[b, n, 8, 0], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 0], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected static numbers of heads and head sizes of 1 or more, but got [b, n, 8, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 0], f32, cpu:0>, !kvern.tensor<[b, m, 2, 0], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c4(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 32], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected q and k to have equal last sizes, but got 64 and 32}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 32], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c5(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 3, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 3, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected the number of heads of q to be a multiple of that of k and v (3), but got 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 3, 64], f32, cpu:0>, !kvern.tensor<[b, m, 3, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c6(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected mask_variant to be null, causal, chunked_causal, sliding_window_causal or sliding_window_noncausal, but got 'alibi'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {mask_variant = "alibi", scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c7(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected window to be above 0 with mask_variant 'chunked_causal', but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {mask_variant = "chunked_causal", scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c7_causal(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected window to be 0 with mask_variant 'causal', but got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {mask_variant = "causal", scale = 1.0 : f64, window = 3 : i64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c8(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, %a3: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected sinks of shape [8], but got [2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 sinks %a3 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c9(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected softcap to be 0 or above, and finite, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64, softcap = -1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c10(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[c, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[c, m, 2, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected q and k to have equal batch sizes, but got b and c, which are not provably equal; rebind one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[c, m, 2, 64], f32, cpu:0>, !kvern.tensor<[c, m, 2, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c11(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, %a3: !kvern.tensor<[b, 2, n, m], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected a mask of a shape that broadcasts to [batch, heads, queries, keys] [b, 8, n, m], but got [b, 2, n, m]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 mask %a3 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, !kvern.tensor<[b, 2, n, m], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @attention_c11_rank(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, %a3: !kvern.tensor<[1, b, 8, n, m], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected a mask of a shape that broadcasts to [batch, heads, queries, keys] [b, 8, n, m], but got [1, b, 8, n, m]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 mask %a3 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, cpu:0>, !kvern.tensor<[1, b, 8, n, m], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @element_type_c1_attention(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], bf16, cpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected operands of one element type, but got 'f32' and 'bf16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], bf16, cpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}

// -----

func.func @device_c1_attention(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[b, m, 2, 40], f32, gpu:0>) {
  // expected-error @+2 {{'kvern.attention' op expected all operands on one device, but got cpu:0 and gpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.attention %a0, %a1, %a2 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 40], f32, gpu:0>) -> !kvern.tensor<[b, n, 8, 40], f32, cpu:0>
  return
}
