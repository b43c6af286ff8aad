// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @device_c1(%x: !kvern.tensor<[4], f32, cpu:0>, %y: !kvern.tensor<[4], f32, gpu:0>) {
  // expected-error @+2 {{'kvern.add' op expected all operands on one device, but got cpu:0 and gpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.add %x, %y : (!kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[4], f32, gpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func @device_c1_condition(%c: !kvern.tensor<[4], i1, gpu:0>, %x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.where' op expected all operands on one device, but got gpu:0 and cpu:0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.where %c, %x, %x : (!kvern.tensor<[4], i1, gpu:0>, !kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func @element_type_c1(%x: !kvern.tensor<[4], i32, cpu:0>, %y: !kvern.tensor<[4], ui32, cpu:0>) {
  // expected-error @+2 {{'kvern.greater' op expected operands of one element type, but got 'i32' and 'ui32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.greater %x, %y : (!kvern.tensor<[4], i32, cpu:0>, !kvern.tensor<[4], ui32, cpu:0>) -> !kvern.tensor<[4], i1, cpu:0>
  return
}

// -----

func.func @element_type_c1_where(%c: !kvern.tensor<[4], i1, cpu:0>, %x: !kvern.tensor<[4], f16, cpu:0>, %y: !kvern.tensor<[4], bf16, cpu:0>) {
  // expected-error @+2 {{'kvern.where' op expected operands of one element type, but got 'f16' and 'bf16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.where %c, %x, %y : (!kvern.tensor<[4], i1, cpu:0>, !kvern.tensor<[4], f16, cpu:0>, !kvern.tensor<[4], bf16, cpu:0>) -> !kvern.tensor<[4], f16, cpu:0>
  return
}

// -----

func.func @broadcast_c1(%x: !kvern.tensor<[2, 3], f32, cpu:0>, %y: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.add' op expected shapes that broadcast, but got [2, 3] and [2]: sizes 3 and 2 at axis -1 differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.add %x, %y : (!kvern.tensor<[2, 3], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[2, 3], f32, cpu:0>
  return
}

// -----

func.func @broadcast_c1_names(%x: !kvern.tensor<[n, 3], f32, cpu:0>, %y: !kvern.tensor<[m, 3], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.equal' op expected shapes that broadcast, but got [n, 3] and [m, 3]: sizes n and m at axis -2 are not provably equal; rebind one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.equal %x, %y : (!kvern.tensor<[n, 3], f32, cpu:0>, !kvern.tensor<[m, 3], f32, cpu:0>) -> !kvern.tensor<[n, 3], i1, cpu:0>
  return
}

// -----

func.func @broadcast_c1_condition(%c: !kvern.tensor<[0], i1, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.where' op expected shapes that broadcast, but got [0] and [2]: sizes 0 and 2 at axis -1 differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.where %c, %x, %x : (!kvern.tensor<[0], i1, cpu:0>, !kvern.tensor<[2], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @type_c3(%x: !kvern.tensor<[1073741824, 1], f32, cpu:0>, %y: !kvern.tensor<[1, 1073741824], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.mul' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.mul %x, %y : (!kvern.tensor<[1073741824, 1], f32, cpu:0>, !kvern.tensor<[1, 1073741824], f32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @gelu_c1(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.gelu' op expected approximate to be none, tanh or quick, but got fast}}
  %0 = kvern.gelu %x {approximate = "fast"} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @cast_c1(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.cast' op expected an element type of i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8- or 4-bit float, but got 'index'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.cast %x {dtype = index} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @float_operand(%x: !kvern.tensor<[n], i32, cpu:0>) {
  // expected-error @+1 {{'kvern.exp' op operand #0 must be tensor of floating-point numbers, but got '!kvern.tensor<[n], i32, cpu:0>'}}
  %0 = kvern.exp %x : (!kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n], i32, cpu:0>
  return
}

// -----

func.func @number_operand(%x: !kvern.tensor<[n], i1, cpu:0>) {
  // expected-error @+1 {{'kvern.add' op operand #0 must be tensor of numbers, but got '!kvern.tensor<[n], i1, cpu:0>'}}
  %0 = kvern.add %x, %x : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[n], i1, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
  return
}

// -----

func.func @bool_operand(%x: !kvern.tensor<[n], i8, cpu:0>) {
  // expected-error @+1 {{'kvern.logical_and' op operand #0 must be tensor of bool, but got '!kvern.tensor<[n], i8, cpu:0>'}}
  %0 = kvern.logical_and %x, %x : (!kvern.tensor<[n], i8, cpu:0>, !kvern.tensor<[n], i8, cpu:0>) -> !kvern.tensor<[n], i8, cpu:0>
  return
}

// -----

func.func @tensor_operand(%x: !kvern.buffer<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.relu' op operand #0 must be tensor of numbers, but got '!kvern.buffer<[n], f32, cpu:0>'}}
  %0 = kvern.relu %x : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @result(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.relu' op inferred type(s) '!kvern.tensor<[n], f32, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[m], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.relu %x : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return
}

// -----

func.func @missing_attribute(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.cast' op requires attribute 'dtype'}}
  %0 = kvern.cast %x : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}
