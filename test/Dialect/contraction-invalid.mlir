// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @matmul_c1(%x: !kvern.tensor<[m, k], f32, cpu:0>, %y: !kvern.tensor<[k], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.matmul' op expected operands of rank 2 or more, but got [m, k] and [k]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[k], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return
}

// -----

func.func @matmul_c2(%x: !kvern.tensor<[4, 100], f32, cpu:0>, %y: !kvern.tensor<[64, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.matmul' op expected the last size of lhs [4, 100] to be the contracted size of rhs [64, 8], but got 100 and 64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[4, 100], f32, cpu:0>, !kvern.tensor<[64, 8], f32, cpu:0>) -> !kvern.tensor<[4, 8], f32, cpu:0>
  return
}

// -----

func.func @matmul_c2_transposed(%x: !kvern.tensor<[m, k], f32, cpu:0>, %y: !kvern.tensor<[k, 8], f32, cpu:0>) {
  // expected-error @+2 {{expected the last size of lhs [m, k] to be the contracted size of rhs [k, 8], but got k and 8, which are not provably equal; rebind one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y {transpose_rhs} : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[k, 8], f32, cpu:0>) -> !kvern.tensor<[m, 8], f32, cpu:0>
  return
}

// -----

func.func @broadcast_c1(%x: !kvern.tensor<[2, m, k], f32, cpu:0>, %y: !kvern.tensor<[3, k, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.matmul' op expected shapes that broadcast, but got [2] and [3]: sizes 2 and 3 at axis -1 differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[2, m, k], f32, cpu:0>, !kvern.tensor<[3, k, n], f32, cpu:0>) -> !kvern.tensor<[2, m, n], f32, cpu:0>
  return
}

// -----

func.func @device_c1(%x: !kvern.tensor<[m, k], f32, cpu:0>, %y: !kvern.tensor<[k, n], f32, cpu:1>) {
  // expected-error @+2 {{'kvern.matmul' op expected all operands on one device, but got cpu:0 and cpu:1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[k, n], f32, cpu:1>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @element_type_c1(%x: !kvern.tensor<[m, k], f32, cpu:0>, %y: !kvern.tensor<[k, n], f16, cpu:0>) {
  // expected-error @+2 {{'kvern.matmul' op expected operands of one element type, but got 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[k, n], f16, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @type_c3(%x: !kvern.tensor<[1073741824, 1], f32, cpu:0>, %y: !kvern.tensor<[1, 1073741824], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.matmul' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[1073741824, 1], f32, cpu:0>, !kvern.tensor<[1, 1073741824], f32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @number_operand(%x: !kvern.tensor<[m, m], i1, cpu:0>) {
  // expected-error @+1 {{'kvern.matmul' op operand #0 must be tensor of numbers, but got '!kvern.tensor<[m, m], i1, cpu:0>'}}
  %0 = kvern.matmul %x, %x : (!kvern.tensor<[m, m], i1, cpu:0>, !kvern.tensor<[m, m], i1, cpu:0>) -> !kvern.tensor<[m, m], i1, cpu:0>
  return
}
