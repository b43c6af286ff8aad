// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @ragged_attention_c1(%a0: !kvern.tensor<[t, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[u, 2, 64], f16, cpu:0>, %a3: !kvern.tensor<[s], ui32, cpu:0>, %a4: !kvern.tensor<[s], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.ragged_attention' op expected operands of one element type, but got 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.ragged_attention %a0, %a1, %a2, %a3, %a4 {scale = 1.0 : f64} : (!kvern.tensor<[t, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f16, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @ragged_attention_c2(%a0: !kvern.tensor<[t, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a3: !kvern.tensor<[s], ui32, cpu:0>, %a4: !kvern.tensor<[s + 1], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.ragged_attention' op expected q_offsets and k_offsets of rank 1 and one size of 1 or more, but got [s] and [s + 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.ragged_attention %a0, %a1, %a2, %a3, %a4 {scale = 1.0 : f64} : (!kvern.tensor<[t, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>, !kvern.tensor<[s + 1], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @ragged_attention_c2_empty(%a0: !kvern.tensor<[t, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a3: !kvern.tensor<[0], ui32, cpu:0>, %a4: !kvern.tensor<[0], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.ragged_attention' op expected q_offsets and k_offsets of rank 1 and one size of 1 or more, but got [0] and [0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.ragged_attention %a0, %a1, %a2, %a3, %a4 {scale = 1.0 : f64} : (!kvern.tensor<[t, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[0], ui32, cpu:0>, !kvern.tensor<[0], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @attention_c1_ragged(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a3: !kvern.tensor<[s], ui32, cpu:0>, %a4: !kvern.tensor<[s], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.ragged_attention' op expected q, k and v of rank 3, but got [b, n, 8, 64], [u, 2, 64] and [u, 2, 64]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.ragged_attention %a0, %a1, %a2, %a3, %a4 {scale = 1.0 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @ragged_attention_offsets(%a0: !kvern.tensor<[t, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a2: !kvern.tensor<[u, 2, 64], f32, cpu:0>, %a3: !kvern.tensor<[s], ui32, cpu:0>, %a4: !kvern.tensor<[s], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.ragged_attention' op operand #4 must be tensor of 32- or 64-bit integers, but got '!kvern.tensor<[s], f32, cpu:0>'}}
  %0 = kvern.ragged_attention %a0, %a1, %a2, %a3, %a4 {scale = 1.0 : f64} : (!kvern.tensor<[t, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[s], ui32, cpu:0>, !kvern.tensor<[s], f32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
  return
}
