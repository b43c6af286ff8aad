// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @check_indices_c1(%x: !kvern.tensor<[2], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.indices' op expected i64 tensors of one element, but got '!kvern.tensor<[2], i64, cpu:0>'}}
  kvern.check.indices %x, %x {axis = 0 : i64, size = #kvern.dim<n>} : !kvern.tensor<[2], i64, cpu:0>, !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @check_indices_c1_element(%x: !kvern.tensor<[1], i64, cpu:0>, %y: !kvern.tensor<[1], i32, cpu:0>) {
  // expected-error @+1 {{'kvern.check.indices' op expected i64 tensors of one element, but got '!kvern.tensor<[1], i32, cpu:0>'}}
  kvern.check.indices %x, %y {axis = 0 : i64, size = #kvern.dim<n>} : !kvern.tensor<[1], i64, cpu:0>, !kvern.tensor<[1], i32, cpu:0>
  return
}

// -----

func.func @check_indices_c1_overflow(%x: !kvern.tensor<[a * 4611686018427387904, b * 4], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.indices' op expected i64 tensors of one element, but got }}
  kvern.check.indices %x, %x {axis = 0 : i64, size = #kvern.dim<n>} : !kvern.tensor<[a * 4611686018427387904, b * 4], i64, cpu:0>, !kvern.tensor<[a * 4611686018427387904, b * 4], i64, cpu:0>
  return
}

// -----

func.func @check_slice_c1(%i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op expected 2 run-time bounds, but got 1}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = 1 : i64, stop} : !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @check_slice_c2(%i: !kvern.tensor<[1], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op expected run-time bounds to be scalars, but got '!kvern.tensor<[1], i64, cpu:0>'}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = 1 : i64, stop = #kvern.dim<4>} : !kvern.tensor<[1], i64, cpu:0>
  return
}

// -----

func.func @check_slice_c3(%i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op expected a step other than 0}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = 0 : i64, stop = #kvern.dim<4>} : !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @check_slice_c3_lowest(%i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op expected a step other than -9223372036854775808}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = -9223372036854775808 : i64, stop = #kvern.dim<4>} : !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @bound_attribute(%i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op attribute 'stop' failed to satisfy constraint: bound: a dim, or unit for a run-time operand}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = 1 : i64, stop = 4 : i64} : !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @size_attribute() {
  // expected-error @+1 {{'kvern.check.sizes' op attribute 'lhs' failed to satisfy constraint: The size of one axis}}
  kvern.check.sizes {lhs = 4 : i64, rhs = #kvern.dim<m>, subject = "a"}
  return
}

// -----

func.func @index_operand(%i: !kvern.tensor<[], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.check.slice' op operand #0 must be variadic of tensor of 32- or 64-bit integers, but got '!kvern.tensor<[], f32, cpu:0>'}}
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = 1 : i64, stop = #kvern.dim<4>} : !kvern.tensor<[], f32, cpu:0>
  return
}
