// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func private @same(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>

func.func @derived_weight_c1(%w: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.derived_weight' op expected static sizes, but got [n]}}
  %0 = kvern.derived_weight @same(%w) : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @derived_weight_c2(%w: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.derived_weight' op expected a function named @absent, but there is none}}
  %0 = kvern.derived_weight @absent(%w) : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func private @same(!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>

func.func @derived_weight_c3(%w: !kvern.tensor<[4], f32, cpu:0>) {
  // expected-error @+1 {{'kvern.derived_weight' op expected @same to give '!kvern.tensor<[5], f32, cpu:0>', but it gives '!kvern.tensor<[4], f32, cpu:0>'}}
  %0 = kvern.derived_weight @same(%w) : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[5], f32, cpu:0>
  return
}
