// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @buffer_store_c1(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[m], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store' op expected a source of type '!kvern.tensor<[n], f32, cpu:0>', but got '!kvern.tensor<[m], f32, cpu:0>'}}
  kvern.buffer_store %b, %x : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[m], f32, cpu:0>
  return
}

// -----

func.func @buffer_store_c1_element(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[n], f16, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store' op expected a source of type '!kvern.tensor<[n], f32, cpu:0>', but got '!kvern.tensor<[n], f16, cpu:0>'}}
  kvern.buffer_store %b, %x : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[n], f16, cpu:0>
  return
}

// -----

func.func @buffer_store_c1_device(%b: !kvern.buffer<[n], f32, gpu:0>, %x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store' op expected a source of type '!kvern.tensor<[n], f32, gpu:0>', but got '!kvern.tensor<[n], f32, cpu:0>'}}
  kvern.buffer_store %b, %x : !kvern.buffer<[n], f32, gpu:0>, !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @buffer_store_slice_c1(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected a source of type '!kvern.tensor<[2], f32, cpu:0>', but got '!kvern.tensor<[3], f32, cpu:0>'}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[3], f32, cpu:0>
  return
}

// -----

func.func @buffer_store_slice_c1_rank(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected a source of type '!kvern.tensor<[2], f32, cpu:0>', but got '!kvern.tensor<[], f32, cpu:0>'}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>
  return
}

// -----

func.func @slice_c1(%b: !kvern.buffer<[n, 4], f32, cpu:0>, %x: !kvern.tensor<[2, 4], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected bounds for 2 axes, but got 1 starts, 1 stops, 1 steps and 1 out_dims}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n, 4], f32, cpu:0>, !kvern.tensor<[2, 4], f32, cpu:0>
  return
}

// -----

func.func @slice_c1_stops(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected bounds for 1 axes, but got 1 starts, 2 stops, 1 steps and 1 out_dims}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<2>, #kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @slice_c2(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected 1 run-time bounds, but got 0}}
  kvern.buffer_store_slice %b, %x {starts = [unit], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @slice_c3(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>, %i: !kvern.tensor<[1], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected run-time bounds to be scalars, but got '!kvern.tensor<[1], i64, cpu:0>'}}
  kvern.buffer_store_slice %b, %x, %i {starts = [unit], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>, !kvern.tensor<[1], i64, cpu:0>
  return
}

// -----

func.func @slice_c4(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected a step other than 0 at axis 0}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>], steps = array<i64: 0>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
  return
}

// -----

func.func @slice_c5(%b: !kvern.buffer<[n], f32, cpu:0>, %x: !kvern.tensor<[], f32, cpu:0>, %i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected an output size for axis 0, which has run-time bounds}}
  kvern.buffer_store_slice %b, %x, %i {starts = [unit], steps = array<i64: 1>, stops = [#kvern.dim<2>]} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @slice_c7(%b: !kvern.buffer<[4], f32, cpu:0>, %x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected slice bounds within size 4 at axis 0, but got start 3, stop 6 and step 1}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<3>], steps = array<i64: 1>, stops = [#kvern.dim<6>]} : !kvern.buffer<[4], f32, cpu:0>, !kvern.tensor<[3], f32, cpu:0>
  return
}

// -----

func.func @type_c3(%b: !kvern.buffer<[n, m], f32, cpu:0>, %x: !kvern.tensor<[2, 2], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_store_slice' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  kvern.buffer_store_slice %b, %x {starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<1073741824>, #kvern.dim<1073741824>]} : !kvern.buffer<[n, m], f32, cpu:0>, !kvern.tensor<[2, 2], f32, cpu:0>
  return
}

// -----

func.func @buffer_operand(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.buffer_load' op operand #0 must be buffer, but got '!kvern.tensor<[n], f32, cpu:0>'}}
  %0 = kvern.buffer_load %x : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @result(%x: !kvern.buffer<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.buffer_load' op inferred type(s) '!kvern.tensor<[n], f32, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[m], f32, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.buffer_load %x : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return
}
