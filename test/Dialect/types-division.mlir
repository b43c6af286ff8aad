// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// Divisions of sizes are kept in lowest terms, so that equal ones are one type.

// What divides is outside; coefficients inside are below the divisor.
// CHECK-LABEL: @outside(!kvern.tensor<[n + (n + 1) floordiv 2], f32, cpu:0>, !kvern.tensor<[n + n floordiv 7], f32, cpu:0>, !kvern.tensor<[(h + 1) floordiv 2], f32, cpu:0>)
func.func private @outside(!kvern.tensor<[(n * 3 + 1) floordiv 2], f32, cpu:0>, !kvern.tensor<[(n * 8) floordiv 7], f32, cpu:0>, !kvern.tensor<[(h - 3 + 2 * 1) floordiv 2 + 1], f32, cpu:0>)

// A common divisor goes.
// CHECK-LABEL: @common(!kvern.tensor<[n - (n + 2) floordiv 3], f32, cpu:0>, !kvern.tensor<[n floordiv 2], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>)
func.func private @common(!kvern.tensor<[(n * 4) floordiv 6], f32, cpu:0>, !kvern.tensor<[(2 * n + 1) floordiv 4], f32, cpu:0>, !kvern.tensor<[(n * 6 + 5) floordiv 6], f32, cpu:0>)

// Rounding up is rounding down of more.
// CHECK-LABEL: @up(!kvern.tensor<[(n + 3) floordiv 4], f32, cpu:0>, !kvern.tensor<[(n + 3) floordiv 4], f32, cpu:0>, !kvern.tensor<[(n + 1) floordiv 2 * 2], f32, cpu:0>)
func.func private @up(!kvern.tensor<[n ceildiv 4], f32, cpu:0>, !kvern.tensor<[-(-n floordiv 4)], f32, cpu:0>, !kvern.tensor<[(n + 1) floordiv 2 * 2], f32, cpu:0>)

// A division of a division is one.
// CHECK-LABEL: @nested(!kvern.tensor<[n floordiv 6], f32, cpu:0>, !kvern.tensor<[(n + 3) floordiv 4], f32, cpu:0>, !kvern.tensor<[(m * 2 + n) floordiv 4], f32, cpu:0>)
func.func private @nested(!kvern.tensor<[n floordiv 2 floordiv 3], f32, cpu:0>, !kvern.tensor<[((n - 1) floordiv 2 + 1 - 1) floordiv 2 + 1], f32, cpu:0>, !kvern.tensor<[(n floordiv 2 + m) floordiv 2], f32, cpu:0>)

// Names divide as numbers do.
// CHECK-LABEL: @names(!kvern.tensor<[s * 8 + 1], f32, cpu:0>, !kvern.tensor<[b + n floordiv (s + 1)], f32, cpu:0>, !kvern.tensor<[n * 2 + (m * n) floordiv (m * 2)], f32, cpu:0>)
func.func private @names(!kvern.tensor<[(b * s * 8 + b) floordiv b], f32, cpu:0>, !kvern.tensor<[(b * (s + 1) + n) floordiv (s + 1)], f32, cpu:0>, !kvern.tensor<[(n * m * 5) floordiv (m * 2)], f32, cpu:0>)

// CHECK-LABEL: @negative_divisor(!kvern.tensor<[n * -1 + n floordiv 2], f32, cpu:0>, !kvern.tensor<[n mod 2 * -1 + 7], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>, !kvern.tensor<[0], f32, cpu:0>)
func.func private @negative_divisor(!kvern.tensor<[n floordiv -2], f32, cpu:0>, !kvern.tensor<[n mod -2 + 7], f32, cpu:0>, !kvern.tensor<[3 mod -2 + 2], f32, cpu:0>, !kvern.tensor<[n ceildiv -1 + n], f32, cpu:0>)

// A remainder is what the division leaves.
// CHECK-LABEL: @modulo(!kvern.tensor<[n mod 4], f32, cpu:0>, !kvern.tensor<[n mod 4], f32, cpu:0>, !kvern.tensor<[n mod 4], f32, cpu:0>, !kvern.tensor<[m + n mod 4], f32, cpu:0>, !kvern.tensor<[m + n mod 4], f32, cpu:0>, !kvern.tensor<[n * 2 + n mod 4], f32, cpu:0>, !kvern.tensor<[m * (n mod k)], f32, cpu:0>)
func.func private @modulo(!kvern.tensor<[(n + 8) mod 4], f32, cpu:0>, !kvern.tensor<[n - n floordiv 4 * 4], f32, cpu:0>, !kvern.tensor<[(n mod 8) mod 4], f32, cpu:0>, !kvern.tensor<[m + n - 4 * (n floordiv 4)], f32, cpu:0>, !kvern.tensor<[m + (n - n floordiv 4 * 4)], f32, cpu:0>, !kvern.tensor<[n mod 4 + 2 * n], f32, cpu:0>, !kvern.tensor<[m * n - n floordiv k * m * k], f32, cpu:0>)

// CHECK-LABEL: @padding(!kvern.tensor<[n * -1 + (n + 3) floordiv 4 * 4], f32, cpu:0>, !kvern.tensor<[(n + 3) floordiv 4 * 4], f32, cpu:0>)
func.func private @padding(!kvern.tensor<[-n mod 4], f32, cpu:0>, !kvern.tensor<[n + -n mod 4], f32, cpu:0>)

// The lowest integer has no literal.
// CHECK-LABEL: @lowest(!kvern.tensor<[n + (-9223372036854775807 - 1)], f32, cpu:0>, !kvern.tensor<[n * (-9223372036854775807 - 1)], f32, cpu:0>, !kvern.tensor<[1], f32, cpu:0>)
func.func private @lowest(!kvern.tensor<[n - 9223372036854775807 - 1], f32, cpu:0>, !kvern.tensor<[n * -4611686018427387904 * 2], f32, cpu:0>, !kvern.tensor<[(-9223372036854775807 - 1) mod 3], f32, cpu:0>)

// Four windows of 3 with stride 2 and padding 1, and without padding.
// CHECK-LABEL: @convolutions(!kvern.tensor<[(h + 15) floordiv 16], f32, cpu:0>, !kvern.tensor<[(h + 1) floordiv 16 - 1], f32, cpu:0>)
func.func private @convolutions(!kvern.tensor<[((((h - 1) floordiv 2 + 1 - 1) floordiv 2 + 1 - 1) floordiv 2 + 1 - 1) floordiv 2 + 1], f32, cpu:0>, !kvern.tensor<[((((h - 3) floordiv 2 + 1 - 3) floordiv 2 + 1 - 3) floordiv 2 + 1 - 3) floordiv 2 + 1], f32, cpu:0>)
