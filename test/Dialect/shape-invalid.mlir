// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @shape_c1_reshape(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.reshape' op expected sizes of 0 or more, but got [n, -1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[n, -1]>} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @shape_c1_rebind(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rebind' op expected sizes of 0 or more, but got [-1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rebind %x {shape = #kvern.shape<[-1]>} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @reshape_c1(%x: !kvern.tensor<[n * 4611686018427387904, 8], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.reshape' op the number of elements overflows 64 bits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[n]>} : (!kvern.tensor<[n * 4611686018427387904, 8], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// -----

func.func @reshape_c2(%x: !kvern.tensor<[3, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.reshape' op expected shape [5, 2] to have as many elements as [3, 4], but got 10 and 12}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[5, 2]>} : (!kvern.tensor<[3, 4], f32, cpu:0>) -> !kvern.tensor<[5, 2], f32, cpu:0>
  return
}

// -----

func.func @reshape_c2_names(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.reshape' op expected shape [m, 4] to have as many elements as [n, 4], but got m * 4 and n * 4, which are not provably equal; rebind first}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[m, 4]>} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m, 4], f32, cpu:0>
  return
}

// -----

func.func @reshape_c2_rounded(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{but got n floordiv 2 * 2 and n, which are not provably equal; rebind first}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.reshape %x {shape = #kvern.shape<[n floordiv 2, 2]>} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2, 2], f32, cpu:0>
  return
}

// -----

func.func @squeeze_c1(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.squeeze' op expected size 1 at axis 0 of [n, 4], but got n}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.squeeze %x {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_squeeze(%x: !kvern.tensor<[1], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.squeeze' op expected an axis of a tensor of rank 1, but got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.squeeze %x {axis = 1 : i64} : (!kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}

// -----

func.func @axis_c1_unsqueeze(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.unsqueeze' op expected an axis of a tensor of rank 2, but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.unsqueeze %x {axis = 2 : i64} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n, 1], f32, cpu:0>
  return
}

// -----

func.func @rebind_c1(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rebind' op expected a shape of rank 2 for [n, 4], but got [m]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rebind %x {shape = #kvern.shape<[m]>} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return
}

// -----

func.func @rebind_c2(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.rebind' op expected sizes that can be equal at axis 1, but got 4 and 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.rebind %x {shape = #kvern.shape<[m, 5]>} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[m, 5], f32, cpu:0>
  return
}
