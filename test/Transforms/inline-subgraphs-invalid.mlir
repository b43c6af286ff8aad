// RUN: kvern-opt %s -kvern-inline-subgraphs -verify-diagnostics -split-input-file

func.func private @declared(!kvern.tensor<[n], f32, cpu:0>)

func.func @no_body(%x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected a body for @declared}}
  kvern.call @declared(%x) : (!kvern.tensor<[3], f32, cpu:0>) -> ()
  return
}

// -----

func.func private @shorter(%x: !kvern.tensor<[n], f32, cpu:0>) {
  %0 = kvern.slice %x {starts = [#kvern.dim<5>], stops = [#kvern.dim<n>], steps = array<i64: 1>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n - 5], f32, cpu:0>
  return
}

func.func @sizes(%x: !kvern.tensor<[3], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.call' op expected valid sizes in @shorter for !kvern.tensor<[n - 5], f32, cpu:0>}}
  kvern.call @shorter(%x) : (!kvern.tensor<[3], f32, cpu:0>) -> ()
  return
}

// -----

// expected-error @+1 {{subgraphs are nested more than 64 deep, or call themselves}}
func.func @recursive(%x: !kvern.tensor<[3], f32, cpu:0>) {
  kvern.call @recursive(%x) : (!kvern.tensor<[3], f32, cpu:0>) -> ()
  return
}
