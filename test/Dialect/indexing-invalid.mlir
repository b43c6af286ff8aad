// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @axis_c1(%x: !kvern.tensor<[10], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.gather' op expected an axis of a tensor of rank 1, but got 9223372036854775807}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.gather %x, %i {axis = 9223372036854775807 : i64} : (!kvern.tensor<[10], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_scalar(%x: !kvern.tensor<[], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.gather' op expected an axis of a tensor of rank 0, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @device_c1(%x: !kvern.tensor<[10], f32, gpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.gather' op expected all operands on one device, but got gpu:0 and cpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[10], f32, gpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n], f32, gpu:0>
  return
}

// -----

func.func @type_c3(%x: !kvern.tensor<[1, 1073741824], f32, cpu:0>, %i: !kvern.tensor<[1073741824], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.gather' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[1, 1073741824], f32, cpu:0>, !kvern.tensor<[1073741824], i64, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @index_operand(%x: !kvern.tensor<[10], f32, cpu:0>, %i: !kvern.tensor<[n], i16, cpu:0>) {
  // expected-error @+1 {{'kvern.gather' op operand #1 must be tensor of 32- or 64-bit integers, but got '!kvern.tensor<[n], i16, cpu:0>'}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[10], f32, cpu:0>, !kvern.tensor<[n], i16, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @result(%x: !kvern.tensor<[10, 4], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.gather' op inferred type(s) '!kvern.tensor<[n, 4], f32, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[4, n], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[10, 4], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[4, n], f32, cpu:0>
  return
}
