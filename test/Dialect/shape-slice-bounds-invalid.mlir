// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @slice_c6(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op slice bounds overflow 64 bits at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<-1>], steps = array<i64: 1, 1>, stops = [#kvern.dim<1>, #kvern.dim<9223372036854775807>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c6_rounding(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op slice bounds overflow 64 bits at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 2>, stops = [#kvern.dim<1>, #kvern.dim<9223372036854775807>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c7_stop(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected slice bounds within size 10 at axis 0, but got start 0, stop 11 and step 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<11>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c7_start(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected slice bounds within size 10 at axis 0, but got start -1, stop 5 and step 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<-1>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<5>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c7_down(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected slice bounds within size 10 at axis 0, but got start 9, stop -2 and step -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<9>, #kvern.dim<0>], steps = array<i64: -1, 1>, stops = [#kvern.dim<-2>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c7_names(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected slice bounds within size n at axis 1, but got start -2, stop n and step 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<-2>], steps = array<i64: 1, 1>, stops = [#kvern.dim<10>, #kvern.dim<n>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c8(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected out_dims that can be 4 at axis 0, but got 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [#kvern.dim<7>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<4>, #kvern.dim<n>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c8_empty(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected out_dims that can be 0 at axis 0, but got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [#kvern.dim<1>, unit], starts = [#kvern.dim<4>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<0>, #kvern.dim<n>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @type_c2(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected sizes of 0 or more, but got -1 at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, #kvern.dim<-1>], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<4>, #kvern.dim<n>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @bounds_operand(%x: !kvern.tensor<[10, n], f32, cpu:0>, %i: !kvern.tensor<[], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.slice' op operand #1 must be variadic of tensor of 32- or 64-bit integers, but got '!kvern.tensor<[], f32, cpu:0>'}}
  %0 = kvern.slice %x, %i {out_dims = [#kvern.dim<m>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @bounds_attribute(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.slice' op attribute 'starts' failed to satisfy constraint: bounds: dims, or unit for a run-time operand}}
  %0 = kvern.slice %x {starts = [0, 1], stops = [], steps = array<i64: 1>, out_dims = []} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @bounds_no_array(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.slice' op attribute 'stops' failed to satisfy constraint: bounds: dims, or unit for a run-time operand}}
  %0 = kvern.slice %x {starts = [#kvern.dim<0>], stops = #kvern.dim<n>, steps = array<i64: 1>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}
