// RUN: kvern-opt %s -canonicalize | FileCheck %s

// Sizes that a graph computes with are folded when they are known.

!i = !kvern.tensor<[], i64, cpu:0>
!one = !kvern.tensor<[1], i64, cpu:0>
!two = !kvern.tensor<[2], i64, cpu:0>
!four = !kvern.tensor<[4], i64, cpu:0>

// [n, c, h, w] = [2, 3, 4, 5] to [n, c * h * w]
// CHECK-LABEL: func.func @flatten
func.func @flatten() -> !two {
  // CHECK-NEXT: %[[C:.*]] = kvern.constant {device = #kvern.device<cpu:0>, value = dense<[2, 60]> : tensor<2xi64>}
  // CHECK-NEXT: return %[[C]]
  %shape = kvern.shape_to_tensor {shape = #kvern.shape<[2, 3, 4, 5]>, device = #kvern.device<cpu:0>} : () -> !four
  %n = kvern.slice %shape {starts = [#kvern.dim<0>], stops = [#kvern.dim<1>], steps = array<i64: 1>, out_dims = [unit]} : (!four) -> !one
  %c = kvern.slice %shape {starts = [#kvern.dim<1>], stops = [#kvern.dim<2>], steps = array<i64: 1>, out_dims = [unit]} : (!four) -> !one
  %hw = kvern.slice %shape {starts = [#kvern.dim<3>], stops = [#kvern.dim<1>], steps = array<i64: -1>, out_dims = [unit]} : (!four) -> !two
  %w = kvern.slice %hw {starts = [#kvern.dim<0>], stops = [#kvern.dim<1>], steps = array<i64: 1>, out_dims = [#kvern.dim<1>]} : (!two) -> !one
  %h = kvern.slice %hw {starts = [#kvern.dim<1>], stops = [#kvern.dim<2>], steps = array<i64: 1>, out_dims = [unit]} : (!two) -> !one
  %h0 = kvern.squeeze %h {axis = 0 : i64} : (!one) -> !i
  %w0 = kvern.squeeze %w {axis = 0 : i64} : (!one) -> !i
  %area = kvern.mul %h0, %w0 : (!i, !i) -> !i
  %area1 = kvern.unsqueeze %area {axis = 0 : i64} : (!i) -> !one
  %features = kvern.mul %c, %area1 : (!one, !one) -> !one
  %result = kvern.concat %n, %features {axis = 0 : i64} : (!one, !one) -> !two
  return %result : !two
}

// CHECK-LABEL: func.func @named
func.func @named() -> !two {
  // CHECK-NEXT: kvern.shape_to_tensor
  %0 = kvern.shape_to_tensor {shape = #kvern.shape<[2, n]>, device = #kvern.device<cpu:0>} : () -> !two
  return %0 : !two
}

// CHECK-LABEL: func.func @empty
func.func @empty() -> (!kvern.tensor<[0], i64, cpu:0>, !kvern.tensor<[0, 7], i64, cpu:0>) {
  // CHECK-DAG: %[[A:.*]] = kvern.constant {device = #kvern.device<cpu:0>, value = dense<> : tensor<0xi64>}
  // CHECK-DAG: %[[B:.*]] = kvern.constant {device = #kvern.device<cpu:0>, value = dense<> : tensor<0x7xi64>}
  // CHECK: return %[[A]], %[[B]]
  %shape = kvern.shape_to_tensor {shape = #kvern.shape<[]>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[0], i64, cpu:0>
  %0 = kvern.concat %shape, %shape {axis = 0 : i64} : (!kvern.tensor<[0], i64, cpu:0>, !kvern.tensor<[0], i64, cpu:0>) -> !kvern.tensor<[0], i64, cpu:0>
  %1 = kvern.reshape %0 {shape = #kvern.shape<[0, 7]>} : (!kvern.tensor<[0], i64, cpu:0>) -> !kvern.tensor<[0, 7], i64, cpu:0>
  return %0, %1 : !kvern.tensor<[0], i64, cpu:0>, !kvern.tensor<[0, 7], i64, cpu:0>
}

// A folded constant stays on its device.
// CHECK-LABEL: func.func @device
func.func @device() -> !kvern.tensor<[2], i64, gpu:0> {
  // CHECK: kvern.constant {device = #kvern.device<gpu:0>, value = dense<[3, 4]> : tensor<2xi64>}
  %0 = kvern.shape_to_tensor {shape = #kvern.shape<[3, 4]>, device = #kvern.device<gpu:0>} : () -> !kvern.tensor<[2], i64, gpu:0>
  return %0 : !kvern.tensor<[2], i64, gpu:0>
}

!f = !kvern.tensor<[2], f32, cpu:0>
!large = !kvern.tensor<[1000000000], i64, cpu:0>

// Floating-point numbers and large constants stay as they were written.
// CHECK-LABEL: func.func @data
func.func @data() -> (!kvern.tensor<[2, 1], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[2000000000], i64, cpu:0>, !kvern.tensor<[500000000], i64, cpu:0>) {
  // CHECK: kvern.reshape
  // CHECK: kvern.concat
  // CHECK: kvern.concat
  // CHECK: kvern.slice
  %x = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !f
  %y = kvern.constant {value = dense<1> : tensor<1000000000xi64>, device = #kvern.device<cpu:0>} : () -> !large
  %0 = kvern.reshape %x {shape = #kvern.shape<[2, 1]>} : (!f) -> !kvern.tensor<[2, 1], f32, cpu:0>
  %1 = kvern.concat %x, %x {axis = 0 : i64} : (!f, !f) -> !kvern.tensor<[4], f32, cpu:0>
  %2 = kvern.concat %y, %y {axis = 0 : i64} : (!large, !large) -> !kvern.tensor<[2000000000], i64, cpu:0>
  %3 = kvern.slice %y {starts = [#kvern.dim<0>], stops = [#kvern.dim<1000000000>], steps = array<i64: 2>, out_dims = [unit]} : (!large) -> !kvern.tensor<[500000000], i64, cpu:0>
  return %0, %1, %2, %3 : !kvern.tensor<[2, 1], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>, !kvern.tensor<[2000000000], i64, cpu:0>, !kvern.tensor<[500000000], i64, cpu:0>
}
