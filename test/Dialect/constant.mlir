// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @constant
func.func @constant() {
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>} : () -> !kvern.tensor<[2], f32, cpu:0>
  %0 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>} : () -> !kvern.tensor<[2], f32, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<true> : tensor<i1>} : () -> !kvern.tensor<[], i1, cpu:0>
  %1 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<true> : tensor<i1>} : () -> !kvern.tensor<[], i1, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<[-1, 127]> : tensor<2xi8>} : () -> !kvern.tensor<[2], i8, cpu:0>
  %2 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<[-1, 127]> : tensor<2xi8>} : () -> !kvern.tensor<[2], i8, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<255> : tensor<1x2xui8>} : () -> !kvern.tensor<[1, 2], ui8, cpu:0>
  %3 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<255> : tensor<1x2xui8>} : () -> !kvern.tensor<[1, 2], ui8, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<gpu:1>, value = dense<0x7FC0> : tensor<bf16>} : () -> !kvern.tensor<[], bf16, gpu:1>
  %4 = kvern.constant {device = #kvern.device<gpu:1>, value = dense<0x7FC0> : tensor<bf16>} : () -> !kvern.tensor<[], bf16, gpu:1>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<5.000000e-01> : tensor<1xf8E5M2>} : () -> !kvern.tensor<[1], f8E5M2, cpu:0>
  %5 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<5.000000e-01> : tensor<1xf8E5M2>} : () -> !kvern.tensor<[1], f8E5M2, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense<> : tensor<0xi64>} : () -> !kvern.tensor<[0], i64, cpu:0>
  %6 = kvern.constant {device = #kvern.device<cpu:0>, value = dense<> : tensor<0xi64>} : () -> !kvern.tensor<[0], i64, cpu:0>
  // CHECK: kvern.constant {device = #kvern.device<cpu:0>, value = dense_resource<blob> : tensor<4xi64>} : () -> !kvern.tensor<[4], i64, cpu:0>
  %7 = kvern.constant {device = #kvern.device<cpu:0>, value = dense_resource<blob> : tensor<4xi64>} : () -> !kvern.tensor<[4], i64, cpu:0>
  return
}

// CHECK-LABEL: func.func @range
func.func @range() {
  // CHECK: kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = 0 : i64, step = 1 : i64} : () -> !kvern.tensor<[n], i64, cpu:0>
  %0 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n>, start = 0 : i64, step = 1 : i64} : () -> !kvern.tensor<[n], i64, cpu:0>
  // CHECK: kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<4>, start = 5 : ui8, step = 3 : ui8} : () -> !kvern.tensor<[4], ui8, cpu:0>
  %1 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<4>, start = 5 : ui8, step = 3 : ui8} : () -> !kvern.tensor<[4], ui8, cpu:0>
  // CHECK: kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n * 2>, start = 1.000000e+00 : bf16, step = -5.000000e-01 : bf16} : () -> !kvern.tensor<[n * 2], bf16, cpu:0>
  %2 = kvern.range {device = #kvern.device<cpu:0>, size = #kvern.dim<n * 2>, start = 1.000000e+00 : bf16, step = -5.000000e-01 : bf16} : () -> !kvern.tensor<[n * 2], bf16, cpu:0>
  // CHECK: kvern.range {device = #kvern.device<gpu:0>, size = #kvern.dim<0>, start = 9 : i32, step = -1 : i32} : () -> !kvern.tensor<[0], i32, gpu:0>
  %3 = kvern.range {device = #kvern.device<gpu:0>, size = #kvern.dim<0>, start = 9 : i32, step = -1 : i32} : () -> !kvern.tensor<[0], i32, gpu:0>
  return
}

// CHECK-LABEL: func.func @weight
func.func @weight() {
  // CHECK: kvern.weight {name = "layers.0.weight"} : !kvern.tensor<[32, 64], f32, cpu:0>
  %0 = kvern.weight {name = "layers.0.weight"} : !kvern.tensor<[32, 64], f32, cpu:0>
  // CHECK: kvern.weight {alignment = 128 : i64, name = "a b"} : !kvern.tensor<[], ui8, cpu:0>
  %1 = kvern.weight {alignment = 128 : i64, name = "a b"} : !kvern.tensor<[], ui8, cpu:0>
  // CHECK: kvern.weight {name = "weight", placeholder} : !kvern.tensor<[0, 4], bf16, gpu:0>
  %2 = kvern.weight {name = "weight", placeholder} : !kvern.tensor<[0, 4], bf16, gpu:0>
  return
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x080000000100000000000000020000000000000003000000000000000400000000000000"
    }
  }
#-}
