// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @axis_c1(%x: !kvern.tensor<[n, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.sum' op expected an axis of a tensor of rank 2, but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sum %x {axis = 2 : i64} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_negative(%x: !kvern.tensor<[n, 64], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.softmax' op expected an axis of a tensor of rank 2, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.softmax %x {axis = -1 : i64} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_scalar(%x: !kvern.tensor<[], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.argmin' op expected an axis of a tensor of rank 0, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.argmin %x {axis = 0 : i64} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @arg_reduction_c1(%x: !kvern.tensor<[n, 0], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.argmax' op expected an axis with at least one element, but got size 0 at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.argmax %x {axis = 1 : i64} : (!kvern.tensor<[n, 0], f32, cpu:0>) -> !kvern.tensor<[n, 1], i64, cpu:0>
  return
}

// -----

func.func @number_operand(%x: !kvern.tensor<[n], i1, cpu:0>) {
  // expected-error @+1 {{'kvern.reduce_max' op operand #0 must be tensor of numbers, but got '!kvern.tensor<[n], i1, cpu:0>'}}
  %0 = kvern.reduce_max %x {axis = 0 : i64} : (!kvern.tensor<[n], i1, cpu:0>) -> !kvern.tensor<[1], i1, cpu:0>
  return
}

// -----

func.func @float_operand(%x: !kvern.tensor<[n], i32, cpu:0>) {
  // expected-error @+1 {{'kvern.mean' op operand #0 must be tensor of floating-point numbers, but got '!kvern.tensor<[n], i32, cpu:0>'}}
  %0 = kvern.mean %x {axis = 0 : i64} : (!kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[1], i32, cpu:0>
  return
}

// -----

func.func @axis_attribute(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.sum' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = kvern.sum %x {axis = 0 : i32} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[1], f32, cpu:0>
  return
}

// -----

func.func @result(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.sum' op inferred type(s) '!kvern.tensor<[1], f32, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.sum %x {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}
