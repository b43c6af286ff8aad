// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @call_c1(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected a function named @g, but there is none}}
  kvern.call @g(%x) : (!kvern.tensor<[4], f32, cpu:0>) -> ()
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n - 5], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c2(%x: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected 2 operands for @f, but got 1}}
  %0 = kvern.call @f(%x) : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n - 5], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c3(%x: !kvern.tensor<[6], f32, cpu:0>, %y: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected a dim for "n", but got 6 : i64}}
  %0 = kvern.call @f(%x, %y) {dims = {n = 6 : i64}} : (!kvern.tensor<[6], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[12], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n - 5], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c4(%x: !kvern.tensor<[6], f32, cpu:0>, %y: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected operand 1 of @f to be '!kvern.tensor<[n - 5], f32, cpu:0>', here '!kvern.tensor<[1], f32, cpu:0>', but got '!kvern.tensor<[2], f32, cpu:0>'}}
  %0 = kvern.call @f(%x, %y) : (!kvern.tensor<[6], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[12], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n - 5], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c4_negative(%x: !kvern.tensor<[3], f32, cpu:0>, %y: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected operand 1 of @f to be '!kvern.tensor<[n - 5], f32, cpu:0>', but got '!kvern.tensor<[2], f32, cpu:0>'}}
  %0 = kvern.call @f(%x, %y) : (!kvern.tensor<[3], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) -> !kvern.tensor<[6], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n - 5], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c4_dims(%x: !kvern.tensor<[6], f32, cpu:0>, %y: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected operand 0 of @f to be '!kvern.tensor<[n], f32, cpu:0>', here '!kvern.tensor<[7], f32, cpu:0>', but got '!kvern.tensor<[6], f32, cpu:0>'}}
  %0 = kvern.call @f(%x, %y) {dims = {n = #kvern.dim<7>}} : (!kvern.tensor<[6], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[12], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.buffer<[n], f32, cpu:0>)
func.func @call_c4_buffer(%x: !kvern.tensor<[6], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected operand 0 of @f to be '!kvern.buffer<[n], f32, cpu:0>', here '!kvern.buffer<[6], f32, cpu:0>', but got '!kvern.tensor<[6], f32, cpu:0>'}}
  kvern.call @f(%x) : (!kvern.tensor<[6], f32, cpu:0>) -> ()
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n - 5], f32, cpu:0>
func.func @call_c5(%x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected result 0 of @f to be '!kvern.tensor<[n - 5], f32, cpu:0>', which has no valid sizes here}}
  %0 = kvern.call @f(%x) : (!kvern.tensor<[3], f32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n * 9223372036854775807], f32, cpu:0>
func.func @call_c5_overflow(%x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected result 0 of @f to be '!kvern.tensor<[n * 9223372036854775807], f32, cpu:0>', which has no valid sizes here}}
  %0 = kvern.call @f(%x) : (!kvern.tensor<[3], f32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c6(%x: !kvern.tensor<[m], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected results '!kvern.tensor<[m * 2], f32, cpu:0>', but got '!kvern.tensor<[n * 2], f32, cpu:0>'}}
  %0 = kvern.call @f(%x) : (!kvern.tensor<[m], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
  return
}

// -----

func.func private @f(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
func.func @call_c6_count(%x: !kvern.tensor<[m], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected results '!kvern.tensor<[m * 2], f32, cpu:0>', but got }}
  kvern.call @f(%x) : (!kvern.tensor<[m], f32, cpu:0>) -> ()
  return
}
