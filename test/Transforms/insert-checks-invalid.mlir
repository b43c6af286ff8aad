// RUN: kvern-opt %s -kvern-insert-checks -verify-diagnostics -split-input-file

func.func @start(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.slice' op expected the slice of axis 0 to start within the axis, but that overflows 64 bits}}
  %0 = kvern.slice %x {starts = [#kvern.dim<9223372036854775807>], stops = [#kvern.dim<9223372036854775806>], steps = array<i64: -1>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[1], f32, cpu:0>
  return
}

// -----

func.func @indices(%x: !kvern.tensor<[4], f32, cpu:0>, %i: !kvern.tensor<[a * 4611686018427387904, 4], i64, cpu:0>) {
  // expected-error @+1 {{'kvern.gather' op the number of indices overflows 64 bits}}
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[a * 4611686018427387904, 4], i64, cpu:0>) -> !kvern.tensor<[a * 4611686018427387904, 4], f32, cpu:0>
  return
}
