// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @rms_norm_c1(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %w: !kvern.tensor<[32], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rms_norm' op expected weight of shape [64], but got [32]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[32], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @rms_norm_c1_rank(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %w: !kvern.tensor<[1, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rms_norm' op expected weight of shape [64], but got [1, 64]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @rms_norm_c2(%x: !kvern.tensor<[], f32, cpu:0>, %w: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rms_norm' op expected an operand of rank 1 or more, but got a scalar}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}

// -----

func.func @layer_norm_c1_gamma(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %w: !kvern.tensor<[d], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.layer_norm' op expected gamma of shape [64], but got [d]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[d], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @layer_norm_c1_beta(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %gamma: !kvern.tensor<[64], f32, cpu:0>, %beta: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.layer_norm' op expected beta of shape [64], but got [1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @layer_norm_c2(%x: !kvern.tensor<[], f32, cpu:0>, %gamma: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.layer_norm' op expected an operand of rank 1 or more, but got a scalar}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.layer_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}

// -----

func.func @element_type_c1(%x: !kvern.tensor<[n, 64], bf16, cpu:0>, %w: !kvern.tensor<[64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rms_norm' op expected operands of one element type, but got 'bf16' and 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], bf16, cpu:0>, !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[n, 64], bf16, cpu:0>
  return
}

// -----

func.func @device_c1(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %w: !kvern.tensor<[64], f32, gpu:0>) {
  // expected-error @+2 {{'kvern.layer_norm' op expected all operands on one device, but got cpu:0 and gpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64], f32, gpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @float_operand(%x: !kvern.tensor<[64], i32, cpu:0>) {
  // expected-error @+1 {{'kvern.rms_norm' op operand #0 must be tensor of floating-point numbers, but got '!kvern.tensor<[64], i32, cpu:0>'}}
  %0 = kvern.rms_norm %x, %x {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[64], i32, cpu:0>, !kvern.tensor<[64], i32, cpu:0>) -> !kvern.tensor<[64], i32, cpu:0>
  return
}

// -----

func.func @epsilon_attribute(%x: !kvern.tensor<[64], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.rms_norm' op attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute}}
  %0 = kvern.rms_norm %x, %x {epsilon = 1.0e-5 : f32} : (!kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[64], f32, cpu:0>
  return
}
