// RUN: kvern-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected an element type of i1, i8 to i64}}
func.func private @element(!kvern.tensor<[2], i7, cpu:0>)

// -----

// expected-error @+1 {{expected sizes of 0 or more, but got -1 at axis 1}}
func.func private @negative(!kvern.tensor<[2, -1], f32, cpu:0>)

// -----

// expected-error @+1 {{expected device `cpu` or `gpu`, but got `tpu`}}
func.func private @device(!kvern.tensor<[2], f32, tpu:0>)

// -----

// expected-error @+1 {{expected an integer, a name or `(` in a dimension}}
func.func private @dim(!kvern.tensor<[2 * *], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension overflows 64 bits or divides by zero}}
func.func private @zero(!kvern.tensor<[n floordiv 0], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension overflows 64 bits or divides by zero}}
func.func private @overflow(!kvern.tensor<[n * 9223372036854775807 * 3], f32, cpu:0>)

// -----

// expected-error @+1 {{expected a dimension name that is not empty}}
func.func private @empty(!kvern.tensor<[""], f32, cpu:0>)
