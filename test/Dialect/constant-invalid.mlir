// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @constant_c1_vector() {
  // expected-error @+2 {{'kvern.constant' op expected a value of a plain tensor type of static shape, but got 'vector<2xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : vector<2xi64>} : () -> !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @constant_c1_dynamic() {
  // expected-error @+2 {{'kvern.constant' op expected a value of a plain tensor type of static shape, but got 'tensor<?xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense_resource<blob> : tensor<?xi64>} : () -> !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @constant_c1_unranked() {
  // expected-error @+2 {{'kvern.constant' op expected a value of a plain tensor type of static shape, but got 'tensor<*xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense_resource<blob> : tensor<*xi64>} : () -> !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @constant_c1_encoding() {
  // expected-error @+2 {{'kvern.constant' op expected a value of a plain tensor type of static shape, but got 'tensor<2xi64, "rows">'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : tensor<2xi64, "rows">} : () -> !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @constant_c2() {
  // expected-error @+2 {{'kvern.constant' op expected a value that is dense or a dense_resource}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = sparse<[[0]], [1]> : tensor<2xi64>} : () -> !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @constant_c3() {
  // expected-error @+2 {{'kvern.constant' op expected an element type of i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8- or 4-bit float, but got 'index'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : tensor<2xindex>} : () -> !kvern.tensor<[2], i64, cpu:0>
  return
}

// -----

func.func @constant_c3_sizes() {
  // expected-error @+2 {{'kvern.constant' op expected less than 2^60 elements, but got [1073741824, 1073741824]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : tensor<1073741824x1073741824xi8>} : () -> !kvern.tensor<[2], i8, cpu:0>
  return
}

// -----

func.func @value_attribute() {
  // expected-error @+1 {{'kvern.constant' op attribute 'value' failed to satisfy constraint: constant vector/tensor attribute}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = 1 : i64} : () -> !kvern.tensor<[], i64, cpu:0>
  return
}

// -----

func.func @constant_result() {
  // expected-error @+2 {{'kvern.constant' op inferred type(s) '!kvern.tensor<[2], i64, cpu:0>' are incompatible with return type(s) of operation '!kvern.tensor<[n], i64, cpu:0>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : tensor<2xi64>} : () -> !kvern.tensor<[n], i64, cpu:0>
  return
}

// -----

func.func @range_c1() {
  // expected-error @+2 {{'kvern.range' op expected start and step of one type, but got 'i64' and 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = 0 : i64, step = 1.0 : f32} : () -> !kvern.tensor<[n], i64, cpu:0>
  return
}

// -----

func.func @range_c2() {
  // expected-error @+2 {{'kvern.range' op expected start and step to be numbers, but got 'i1'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = false, step = true} : () -> !kvern.tensor<[n], i1, cpu:0>
  return
}

// -----

func.func @range_c2_tensor() {
  // expected-error @+2 {{'kvern.range' op expected start and step to be numbers, but got 'tensor<1xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = dense<0> : tensor<1xi64>, step = dense<1> : tensor<1xi64>} : () -> !kvern.tensor<[n], i64, cpu:0>
  return
}

// -----

func.func @range_c3() {
  // expected-error @+2 {{'kvern.range' op expected an element type of i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8- or 4-bit float, but got 'index'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = 0 : index, step = 1 : index} : () -> !kvern.tensor<[n], i64, cpu:0>
  return
}

// -----

func.func @range_c3_size() {
  // expected-error @+2 {{'kvern.range' op expected sizes of 0 or more, but got -5 at axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<-5>, start = 0 : i64, step = 1 : i64} : () -> !kvern.tensor<[n], i64, cpu:0>
  return
}

// -----

func.func @weight_c1() {
  // expected-error @+1 {{'kvern.weight' op expected a name that is not empty}}
  %0 = kvern.weight {name = ""} : !kvern.tensor<[4], f32, cpu:0>
  return
}

// -----

func.func @weight_c2() {
  // expected-error @+1 {{'kvern.weight' op expected weight w to have static sizes, but got n * 2}}
  %0 = kvern.weight {name = "w"} : !kvern.tensor<[4, n * 2], f32, cpu:0>
  return
}

// -----

func.func @alignment_attribute() {
  // expected-error @+1 {{'kvern.weight' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
  %0 = kvern.weight {alignment = 48 : i64, name = "w"} : !kvern.tensor<[4], f32, cpu:0>
  return
}
