// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @rope_c1(%a0: !kvern.tensor<[8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected x of rank 3 or more, but got [8, 64]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 {interleaved} : (!kvern.tensor<[8, 64], f32, cpu:0>, !kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[8, 64], f32, cpu:0>
  return
}

// -----

func.func @rope_c2(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 32, 2], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected a table of shape [rows, width], but got [100, 32, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[100, 32, 2], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @rope_c3(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 33], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected static last sizes, that of the table even and at most that of x, but got 33 and 64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[100, 33], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @rope_c3_wide(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 80], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected static last sizes, that of the table even and at most that of x, but got 80 and 64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[100, 80], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @rope_c4(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 64], f32, cpu:0>, %a2: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected positions of shape [b, n], but got [n]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 positions %a2 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[100, 64], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
  return
}

// -----

func.func @rope_c5(%a0: !kvern.tensor<[b, n, 8, 64], f32, cpu:0>, %a1: !kvern.tensor<[100, 64], bf16, cpu:0>) {
  // expected-error @+2 {{'kvern.rope' op expected a table of element type f32 or that of x ('f32'), but got 'bf16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rope %a0, %a1 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[100, 64], bf16, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
  return
}
