// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @slice_c1(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected bounds for 2 axes, but got 1 starts, 2 stops, 2 steps and 2 out_dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<1>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c1_out_dims(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{expected bounds for 2 axes, but got 2 starts, 2 stops, 2 steps and 0 out_dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<1>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c2_few(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected 1 run-time bounds, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [#kvern.dim<m>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c2_many(%x: !kvern.tensor<[10, n], f32, cpu:0>, %i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected 0 run-time bounds, but got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x, %i {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<1>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c3(%x: !kvern.tensor<[10, n], f32, cpu:0>, %i: !kvern.tensor<[1], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected run-time bounds to be scalars, but got '!kvern.tensor<[1], i64, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x, %i {out_dims = [#kvern.dim<m>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>, !kvern.tensor<[1], i64, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c4(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected a step other than 0 at axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 0>, stops = [#kvern.dim<1>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c4_lowest(%x: !kvern.tensor<[10, n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected a step other than -9223372036854775808 at axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: -9223372036854775808, 0>, stops = [#kvern.dim<1>, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}

// -----

func.func @slice_c5(%x: !kvern.tensor<[10, n], f32, cpu:0>, %i: !kvern.tensor<[], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.slice' op expected an output size for axis 0, which has run-time bounds}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.slice %x, %i {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<1>]} : (!kvern.tensor<[10, n], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[10, n], f32, cpu:0>
  return
}
