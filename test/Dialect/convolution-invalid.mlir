// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @window_c1(%x: !kvern.tensor<[n, h, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected x of rank 4, but got shape [n, h, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c2_strides(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected 2 strides of 1 or more, but got [0, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c2_dilations(%x: !kvern.tensor<[n, d, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[1, 3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv3d' op expected 3 dilations of 1 or more, but got [1, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv3d %x, %f {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0, 0, 0>} : (!kvern.tensor<[n, d, h, w, 8], f32, cpu:0>, !kvern.tensor<[1, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c3(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected 4 paddings of 0 or more, but got [0, 0, -1, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, -1, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c4(%x: !kvern.tensor<[n, 4, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected the window of 7 elements to fit into spatial axis 0 of size 4 with paddings 1 and 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 3, 1>, paddings = array<i64: 1, 1, 0, 0>} : (!kvern.tensor<[n, 4, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c5(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op the size of the result overflows 64 bits at spatial axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 9223372036854775807, 1, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @window_c5_transpose(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d_transpose' op the size of the result overflows 64 bits at spatial axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 9223372036854775807, 9223372036854775807>, dilations = array<i64: 9223372036854775807, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c1(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected a layout of NHWC, NCHW, but got NWHC}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, input_layout = "NWHC"} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c1_filter(%x: !kvern.tensor<[n, d, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[1, 3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv3d' op expected a layout of QRSCF, FCQRS, but got RSCF}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv3d %x, %f {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, paddings = array<i64: 0, 0, 0, 0, 0, 0>, filter_layout = "RSCF"} : (!kvern.tensor<[n, d, h, w, 8], f32, cpu:0>, !kvern.tensor<[1, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c2(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected a filter of rank 4, but got shape [3, 8, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c2_sizes(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, k, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected static spatial sizes of 1 or more of the filter, but got shape [3, k, 8, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, k, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c3(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 4, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected the channel axis of x to have size 4, as the filter reads, but got 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 4, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c3_transpose(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d_transpose' op expected the channel axis of x to have size 16, as the filter reads, but got 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @filter_c4(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>, %b: !kvern.tensor<[8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected bias of shape [16], but got [8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>, !kvern.tensor<[8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @conv_c1(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected groups that divide the 16 filters of 8 channels, static numbers with more than one group, but got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 3 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @conv_c1_dynamic(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 4, f], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d' op expected groups that divide the f filters of 4 channels, static numbers with more than one group, but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, groups = 2 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 4, f], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @conv_transpose_c1(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d_transpose' op expected 2 output paddings of 0 or more, below the stride or the dilation, but got [1, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 1, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @conv_transpose_c2(%x: !kvern.tensor<[n, 1, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.conv2d_transpose' op expected a result of 1 element or more along spatial axis 0, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.conv2d_transpose %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 2, 1, 0, 0>, output_paddings = array<i64: 0, 0>} : (!kvern.tensor<[n, 1, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 16, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @packed_conv_c1(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 3, c, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_conv' op expected panels of rank 5 and static sizes of 1 or more, but got [3, 3, 3, c, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 40 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 3, c, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @packed_conv_c1_rank(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_conv' op expected panels of rank 5 and static sizes of 1 or more, but got [3, 3, 8, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 40 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @packed_conv_c2(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 3, 4, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_conv' op expected the channel axis of x to have size 4, as the panels have, but got 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 40 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 3, 4, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @packed_conv_c3(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 3, 8, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_conv' op expected filters that fill 3 panels of 16, but got 32}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 32 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}

// -----

func.func @packed_conv_c4(%x: !kvern.tensor<[n, h, w, 8], f32, cpu:0>, %f: !kvern.tensor<[3, 3, 3, 8, 16], f32, cpu:0>, %b: !kvern.tensor<[48], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_conv' op expected bias of shape [40], but got [48]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_conv %x, %f, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, filters = 40 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 3, 8, 16], f32, cpu:0>, !kvern.tensor<[48], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
  return
}
