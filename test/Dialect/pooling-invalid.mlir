// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @pool_c1(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.max_pool2d' op expected 2 kernel sizes of 1 or more, but got [0, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.max_pool2d %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, kernel_size = array<i64: 0, 2>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @pool_c2(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.avg_pool2d' op expected paddings shorter than the window of 2 elements at spatial axis 1, but got 0 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.avg_pool2d %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 2>, kernel_size = array<i64: 2, 2>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c1(%x: !kvern.tensor<[n, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected 4 paddings of 0 or more for shape [n, 8], but got [0, 1, -1, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 0, 1, -1, 0>, mode = "edge"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c2(%x: !kvern.tensor<[n, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected mode constant, reflect or edge, but got wrap}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 0, 0, 0, 0>, mode = "wrap"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c3(%x: !kvern.tensor<[n, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected a scalar value with mode constant only, but got mode constant and none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 0, 0, 0, 0>, mode = "constant"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c3_edge(%x: !kvern.tensor<[n, 8], f32, cpu:0>, %f: !kvern.tensor<[], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected a scalar value with mode constant only, but got mode edge and shape []}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x, %f {paddings = array<i64: 0, 0, 0, 0>, mode = "edge"} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c4(%x: !kvern.tensor<[n, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected axis 1 to have the elements that mode reflect repeats for a padding of 8, but got size 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 0, 0, 8, 0>, mode = "reflect"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}

// -----

func.func @pad_c4_edge(%x: !kvern.tensor<[n, 0], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op expected axis 1 to have the elements that mode edge repeats for a padding of 1, but got size 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 0, 0, 1, 0>, mode = "edge"} : (!kvern.tensor<[n, 0], f32, cpu:0>) -> !kvern.tensor<[n, 1], f32, cpu:0>
  return
}

// -----

func.func @pad_c5(%x: !kvern.tensor<[n, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pad' op the size of the result overflows 64 bits at axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pad %x {paddings = array<i64: 9223372036854775807, 9223372036854775807, 0, 0>, mode = "edge"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return
}
