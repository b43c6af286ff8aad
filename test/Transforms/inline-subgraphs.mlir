// RUN: kvern-opt %s -kvern-inline-subgraphs -split-input-file -verify-diagnostics | FileCheck %s

// Dimension names are mapped, placeholder weights completed, and the subgraph is
// gone.

// CHECK-LABEL: func.func @graph
func.func @graph(%x: !kvern.tensor<[tokens, 4], f32, cpu:0>) -> !kvern.tensor<[tokens, 4], f32, cpu:0> {
  // CHECK: %[[A:.*]] = kvern.weight {name = "layers.0.scale"}
  // CHECK: %[[X:.*]] = kvern.mul %arg0, %[[A]] : (!kvern.tensor<[tokens, 4], f32, cpu:0>
  %0 = kvern.call @block(%x) {prefix = "layers.0."} : (!kvern.tensor<[tokens, 4], f32, cpu:0>) -> !kvern.tensor<[tokens, 4], f32, cpu:0>
  // CHECK: %[[B:.*]] = kvern.weight {name = "layers.1.scale"}
  // CHECK: kvern.mul %[[X]], %[[B]]
  %1 = kvern.call @block(%0) {prefix = "layers.1."} : (!kvern.tensor<[tokens, 4], f32, cpu:0>) -> !kvern.tensor<[tokens, 4], f32, cpu:0>
  return %1 : !kvern.tensor<[tokens, 4], f32, cpu:0>
}
// CHECK-NOT: func.func private
func.func private @block(%x: !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0> {
  %w = kvern.weight {name = "scale", placeholder} : !kvern.tensor<[4], f32, cpu:0>
  %y = kvern.mul %x, %w : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  return %y : !kvern.tensor<[n, 4], f32, cpu:0>
}

// -----

// expected-error @+1 {{subgraphs are nested more than 64 deep, or call themselves}}
func.func @recursive(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> {
  %0 = kvern.call @self(%x) : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}
func.func private @self(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> {
  %0 = kvern.call @self(%x) : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}
