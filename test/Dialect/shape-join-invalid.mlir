// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @concat_c1() {
  // expected-error @+2 {{'kvern.concat' op expected at least one tensor, but got none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat {axis = 0 : i64} : () -> !kvern.tensor<[0], f32, cpu:0>
  return
}

// -----

func.func @concat_c2(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[n, 1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected tensors of one rank, but got [n] and [n, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %y {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @concat_c3(%x: !kvern.tensor<[n * 9223372036854775807], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op the size of axis 0 overflows 64 bits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %x {axis = 0 : i64} : (!kvern.tensor<[n * 9223372036854775807], f32, cpu:0>, !kvern.tensor<[n * 9223372036854775807], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @concat_c4(%x: !kvern.tensor<[n, 4], f32, cpu:0>, %y: !kvern.tensor<[n, 5], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected sizes to be equal except at axis 0, but got 4 and 5 at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %y {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 5], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_concat(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected an axis of a tensor of rank 1, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x {axis = -1 : i64} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @device_c1(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[n], f32, gpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected all operands on one device, but got cpu:0 and gpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %y {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n], f32, gpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @element_type_c1(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[n], f16, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected operands of one element type, but got 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %y {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n], f16, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @type_c3_concat(%x: !kvern.tensor<[1152921504606846975], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.concat' op expected less than 2^60 elements, but got [2305843009213693950]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.concat %x, %x {axis = 0 : i64} : (!kvern.tensor<[1152921504606846975], f32, cpu:0>, !kvern.tensor<[1152921504606846975], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @stack_c1() {
  // expected-error @+2 {{'kvern.stack' op expected at least one tensor, but got none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.stack {axis = 0 : i64} : () -> !kvern.tensor<[0], f32, cpu:0>
  return
}

// -----

func.func @stack_c2(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[m], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.stack' op expected tensors of one type, but got '!kvern.tensor<[n], f32, cpu:0>' and '!kvern.tensor<[m], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.stack %x, %y {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[m], f32, cpu:0>) -> !kvern.tensor<[2, n], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_stack(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.stack' op expected an axis of a tensor of rank 2, but got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.stack %x {axis = 3 : i64} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n, 1], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_split(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op expected an axis of a tensor of rank 1, but got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.split %x {axis = 1 : i64, sizes = #kvern.shape<[4]>} : (!kvern.tensor<[4], f32, cpu:0>) -> (!kvern.tensor<[4], f32, cpu:0>)
  return
}

// -----

func.func @shape_c1_split(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op expected sizes of 0 or more, but got [5, -1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[5, -1]>} : (!kvern.tensor<[4], f32, cpu:0>) -> (!kvern.tensor<[5], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>)
  return
}

// -----

func.func @split_c1(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op the sizes overflow 64 bits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[n * 9223372036854775807, n]>} : (!kvern.tensor<[4], f32, cpu:0>) -> (!kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>)
  return
}

// -----

func.func @split_c2(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op expected sizes that add up to 4 at axis 0, but got [1, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[1, 2]>} : (!kvern.tensor<[4], f32, cpu:0>) -> (!kvern.tensor<[1], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>)
  return
}

// -----

func.func @split_c2_names(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op expected sizes that add up to n at axis 0, but got [m, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[m, 2]>} : (!kvern.tensor<[n], f32, cpu:0>) -> (!kvern.tensor<[m], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>)
  return
}

// -----

func.func @split_results(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.split' op inferred type(s) '!kvern.tensor<[1], f32, cpu:0>', '!kvern.tensor<[3], f32, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[1], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[1, 3]>} : (!kvern.tensor<[4], f32, cpu:0>) -> (!kvern.tensor<[1], f32, cpu:0>)
  return
}
