// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @sample_tokens_c1(%a0: !kvern.tensor<[b], f32, cpu:0>, %a1: !kvern.tensor<[b], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], ui64, cpu:0>, %a6: !kvern.tensor<[b], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.sample_tokens' op expected logits of shape [rows, vocabulary], but got [b]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sample_tokens %a0, %a1, %a2, %a3, %a4, %a5, %a6 : (!kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], i64, cpu:0>
  return
}

// -----

func.func @sample_tokens_c2(%a0: !kvern.tensor<[b, 0], f32, cpu:0>, %a1: !kvern.tensor<[b], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], ui64, cpu:0>, %a6: !kvern.tensor<[b], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.sample_tokens' op expected a vocabulary of size 1 or more, but got [b, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sample_tokens %a0, %a1, %a2, %a3, %a4, %a5, %a6 : (!kvern.tensor<[b, 0], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], i64, cpu:0>
  return
}

// -----

func.func @sample_tokens_c3(%a0: !kvern.tensor<[b, v], f32, cpu:0>, %a1: !kvern.tensor<[c], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], ui64, cpu:0>, %a6: !kvern.tensor<[b], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.sample_tokens' op expected parameters of shape [b], but got [c]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sample_tokens %a0, %a1, %a2, %a3, %a4, %a5, %a6 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[c], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], i64, cpu:0>
  return
}

// -----

func.func @sample_tokens_c4(%a0: !kvern.tensor<[b, v], f32, cpu:0>, %a1: !kvern.tensor<[b], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], ui64, cpu:0>, %a6: !kvern.tensor<[b], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.sample_tokens' op expected stream to be from 0 to below 2^32, but got 4294967296}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sample_tokens %a0, %a1, %a2, %a3, %a4, %a5, %a6 {stream = 4294967296 : i64} : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], i64, cpu:0>
  return
}

// -----

func.func @random_uniform_c1(%a0: !kvern.tensor<[b], ui64, cpu:0>, %a1: !kvern.tensor<[c], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.random_uniform' op expected seed and position of one shape, but got [b] and [c]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.random_uniform %a0, %a1 : (!kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[c], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
  return
}

// -----

func.func @random_uniform_c2(%a0: !kvern.tensor<[b], ui64, cpu:0>, %a1: !kvern.tensor<[b], ui64, cpu:0>) {
  // expected-error @+2 {{'kvern.random_uniform' op expected stream to be from 0 to below 2^32, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.random_uniform %a0, %a1 {stream = -1 : i64} : (!kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
  return
}

// -----

func.func @apply_penalties_c1(%a0: !kvern.tensor<[b], f32, cpu:0>, %a1: !kvern.tensor<[n, 2], i32, cpu:0>, %a2: !kvern.tensor<[b + 1], ui32, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.apply_penalties' op expected logits of shape [rows, vocabulary], but got [b]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.apply_penalties %a0, %a1, %a2, %a3, %a4, %a5 : (!kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
  return
}

// -----

func.func @apply_penalties_c2(%a0: !kvern.tensor<[b, v], f32, cpu:0>, %a1: !kvern.tensor<[n, 3], i32, cpu:0>, %a2: !kvern.tensor<[b + 1], ui32, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.apply_penalties' op expected data of shape [entries, 2] and offsets of shape [rows + 1] for logits [b, v], but got shapes [n, 3] and [b + 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.apply_penalties %a0, %a1, %a2, %a3, %a4, %a5 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[n, 3], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
  return
}

// -----

func.func @apply_penalties_c3(%a0: !kvern.tensor<[b, v], f32, cpu:0>, %a1: !kvern.tensor<[n, 2], i32, cpu:0>, %a2: !kvern.tensor<[b + 1], ui32, cpu:0>, %a3: !kvern.tensor<[c], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>, %a5: !kvern.tensor<[b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.apply_penalties' op expected penalties of shape [b], but got [c]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.apply_penalties %a0, %a1, %a2, %a3, %a4, %a5 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[c], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
  return
}

// -----

func.func @count_tokens_c1(%a0: !kvern.tensor<[n, 2], i32, cpu:0>, %a1: !kvern.tensor<[b + 1], ui32, cpu:0>, %a2: !kvern.tensor<[c], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.count_tokens' op expected data of shape [entries, 2], offsets of shape [rows + 1] and tokens of shape [rows], but got shapes [n, 2], [b + 1] and [c]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.count_tokens %a0, %a1, %a2 : (!kvern.tensor<[n, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[c], i64, cpu:0>) -> !kvern.tensor<[n, 2], i32, cpu:0>
  return
}

// -----

func.func @loop_sample_tokens_c1(%a0: tensor<?xf32>, %a1: tensor<?xf32>, %a2: tensor<?xi64>, %a3: tensor<?xf32>, %a4: tensor<?xf32>, %a5: tensor<?xi64>, %a6: tensor<?xi64>, %a7: tensor<?xi64>) {
  // expected-error @+1 {{'kvern.loop.sample_tokens' op expected logits of rank 2 and all else of rank 1, but got}}
  %0 = kvern.loop.sample_tokens ins(%a0, %a1, %a2, %a3, %a4, %a5, %a6) outs(%a7) : (tensor<?xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xi64>)
  return
}

// -----

func.func @loop_sample_tokens_c2(%a0: tensor<?x512xf32>, %a1: tensor<?xf32>, %a2: tensor<?xi64>, %a3: tensor<?xf32>, %a4: tensor<?xf32>, %a5: tensor<?xi64>, %a6: tensor<?xi64>, %a7: tensor<?xi64>, %a8: tensor<?xi64>, %a9: tensor<?xi64>) {
  // expected-error @+1 {{'kvern.loop.sample_tokens' op expected one or two results, but got 3}}
  %0:3 = kvern.loop.sample_tokens ins(%a0, %a1, %a2, %a3, %a4, %a5, %a6) outs(%a7, %a8, %a9) : (tensor<?x512xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
  return
}

// -----

func.func @loop_apply_penalties_c1(%a0: tensor<?x512xf32>, %a1: tensor<?xi32>, %a2: tensor<?xi32>, %a3: tensor<?xf32>, %a4: tensor<?xf32>, %a5: tensor<?xf32>, %a6: tensor<?x512xf32>) {
  // expected-error @+1 {{'kvern.loop.apply_penalties' op expected logits, data and one result of rank 2 and all else of rank 1, but got}}
  %0 = kvern.loop.apply_penalties ins(%a0, %a1, %a2, %a3, %a4, %a5) outs(%a6) : (tensor<?x512xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x512xf32>) -> tensor<?x512xf32>
  return
}

// -----

func.func @loop_count_tokens_c1(%a0: tensor<?x2xi32>, %a1: tensor<?xi32>, %a2: tensor<?xi64>, %a3: tensor<?xi32>) {
  // expected-error @+1 {{'kvern.loop.count_tokens' op expected data and one result of rank 2 and all else of rank 1, but got}}
  %0 = kvern.loop.count_tokens ins(%a0, %a1, %a2) outs(%a3) : (tensor<?x2xi32>, tensor<?xi32>, tensor<?xi64>, tensor<?xi32>) -> tensor<?xi32>
  return
}

// -----

func.func @filter_logits_c1(%a0: !kvern.tensor<[b], f32, cpu:0>, %a1: !kvern.tensor<[b], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.filter_logits' op expected logits of shape [rows, vocabulary], but got [b]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.filter_logits %a0, %a1, %a2, %a3, %a4 : (!kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
  return
}

// -----

func.func @filter_logits_c2(%a0: !kvern.tensor<[b, v], f32, cpu:0>, %a1: !kvern.tensor<[c], f32, cpu:0>, %a2: !kvern.tensor<[b], i64, cpu:0>, %a3: !kvern.tensor<[b], f32, cpu:0>, %a4: !kvern.tensor<[b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.filter_logits' op expected parameters of shape [b], but got [c]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.filter_logits %a0, %a1, %a2, %a3, %a4 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[c], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
  return
}

// -----

func.func @loop_filter_logits_c1(%a0: tensor<?x512xf32>, %a1: tensor<?xf32>, %a2: tensor<?xi64>, %a3: tensor<?xf32>, %a4: tensor<?xf32>, %a5: tensor<?xf32>) {
  // expected-error @+1 {{'kvern.loop.filter_logits' op expected logits and one result of rank 2 and all else of rank 1, but got}}
  %0 = kvern.loop.filter_logits ins(%a0, %a1, %a2, %a3, %a4) outs(%a5) : (tensor<?x512xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}
