// RUN: kvern-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected an element type of i1, i8 to i64}}
func.func private @type_c1(!kvern.tensor<[2], i7, cpu:0>)

// -----

// expected-error @+1 {{expected sizes of 0 or more, but got -1 at axis 1}}
func.func private @type_c2(!kvern.tensor<[2, -1], f32, cpu:0>)

// -----

// expected-error @+1 {{expected device `cpu` or `gpu`, but got `tpu`}}
func.func private @device(!kvern.tensor<[2], f32, tpu:0>)

// -----

// expected-error @+1 {{expected an integer, a name or `(` in a dimension}}
func.func private @dim(!kvern.tensor<[2 * *], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension overflows 64 bits, divides by zero or is too long}}
func.func private @zero(!kvern.tensor<[n floordiv 0], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension overflows 64 bits, divides by zero or is too long}}
func.func private @overflow(!kvern.tensor<[n * 9223372036854775807 * 3], f32, cpu:0>)

// -----

// expected-error @+1 {{expected a dimension name that is not empty}}
func.func private @empty(!kvern.tensor<[""], f32, cpu:0>)

// -----

// expected-error @+1 {{expected sizes of 0 or more, but got -9223372036854775808 at axis 0}}
func.func private @type_c2_buffer(!kvern.buffer<[-9223372036854775807 - 1], f32, cpu:0>)

// -----

// expected-error @+1 {{expected less than 2^60 elements, but got [1073741824, n, 1073741824]}}
func.func private @type_c3(!kvern.tensor<[1073741824, n, 1073741824], f32, cpu:0>)

// -----

// expected-error @+1 {{expected less than 2^60 elements, but got [1073741824, 0, 1073741824]}}
func.func private @type_c3_empty(!kvern.buffer<[1073741824, 0, 1073741824], i8, cpu:0>)

// -----

// expected-error @+1 {{expected a device index of 0 or more, but got -1}}
func.func private @device_index(!kvern.tensor<[2], f32, cpu:-1>)

// -----

// expected-error @+1 {{dimension overflows 64 bits, divides by zero or is too long}}
func.func private @zero_difference(!kvern.tensor<[n mod (m - m)], f32, cpu:0>)

// -----

// A product of 12 sums has 4096 terms.
// expected-error @+1 {{dimension overflows 64 bits, divides by zero or is too long}}
func.func private @long(!kvern.tensor<[(a0 + b0) * (a1 + b1) * (a2 + b2) * (a3 + b3) * (a4 + b4) * (a5 + b5) * (a6 + b6) * (a7 + b7) * (a8 + b8) * (a9 + b9) * (a10 + b10) * (a11 + b11)], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension overflows 64 bits, divides by zero or is too long}}
func.func private @long_divisions(!kvern.tensor<[n floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a floordiv a], f32, cpu:0>)

// -----

// expected-error @+1 {{dimension is nested too deeply}}
func.func private @deep(!kvern.tensor<[(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))], f32, cpu:0>)

// -----

// expected-error @+1 {{integer value too large}}
func.func private @literal(!kvern.tensor<[9223372036854775808], f32, cpu:0>)
