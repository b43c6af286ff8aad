// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @shape_c1_broadcast_to(%x: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.broadcast_to' op expected sizes of 0 or more, but got [-5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[-5]>} : (!kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[1], f32, cpu:0>
  return
}

// -----

func.func @broadcast_to_c1(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.broadcast_to' op expected each size of [n, 4] to be 1 or that of [m, 4], aligned at the last axis}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[m, 4]>} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m, 4], f32, cpu:0>
  return
}

// -----

func.func @broadcast_to_c1_rank(%x: !kvern.tensor<[1, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.broadcast_to' op expected each size of [1, 4] to be 1 or that of [4], aligned at the last axis}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[4]>} : (!kvern.tensor<[1, 4], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func @type_c3(%x: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.broadcast_to' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[1073741824, 1073741824]>} : (!kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[1], f32, cpu:0>
  return
}

// -----

func.func @permute_c1_twice(%x: !kvern.tensor<[a, b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.permute' op expected a permutation of 2 axes, but got [1, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.permute %x {permutation = array<i64: 1, 1>} : (!kvern.tensor<[a, b], f32, cpu:0>) -> !kvern.tensor<[b, b], f32, cpu:0>
  return
}

// -----

func.func @permute_c1_few(%x: !kvern.tensor<[a, b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.permute' op expected a permutation of 2 axes, but got [0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.permute %x {permutation = array<i64: 0>} : (!kvern.tensor<[a, b], f32, cpu:0>) -> !kvern.tensor<[a], f32, cpu:0>
  return
}

// -----

func.func @permute_c1_range(%x: !kvern.tensor<[a, b], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.permute' op expected a permutation of 2 axes, but got [0, -9223372036854775808]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.permute %x {permutation = array<i64: 0, -9223372036854775808>} : (!kvern.tensor<[a, b], f32, cpu:0>) -> !kvern.tensor<[a, b], f32, cpu:0>
  return
}

// -----

func.func @tensor_operand(%x: !kvern.buffer<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.reshape' op operand #0 must be tensor, but got '!kvern.buffer<[n], f32, cpu:0>'}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[n]>} : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @shape_attribute(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.reshape' op attribute 'shape' failed to satisfy constraint: A list of dimensions}}
  %0 = kvern.reshape %x {shape = [1, 2]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}
