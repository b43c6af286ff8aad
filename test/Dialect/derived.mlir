// RUN: kvern-opt %s | kvern-opt | FileCheck %s

func.func @double(%w: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0> attributes {kvern.initializer = "double"} {
  %0 = kvern.concat %w, %w {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n * 2], f32, cpu:0>
  return %0 : !kvern.tensor<[n * 2], f32, cpu:0>
}

// CHECK-LABEL: func.func @derived
// CHECK: kvern.derived_weight @double(%{{.+}}) : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
func.func @derived() -> !kvern.tensor<[8], f32, cpu:0> {
  %0 = kvern.weight {name = "w"} : !kvern.tensor<[4], f32, cpu:0>
  %1 = kvern.derived_weight @double(%0) : (!kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[8], f32, cpu:0>
  return %1 : !kvern.tensor<[8], f32, cpu:0>
}
