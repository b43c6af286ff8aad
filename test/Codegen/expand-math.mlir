// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -kvern-expand-math | FileCheck %s

// CHECK-LABEL: func @f32
//   CHECK-NOT: math.exp
//   CHECK-NOT: math.sin
//       CHECK: math.fma {{.*}} : vector<16xf32>
//       CHECK: return
func.func @f32(%x: f32, %v: vector<16xf32>) -> (f32, vector<16xf32>) {
  %0 = math.exp %x : f32
  %1 = math.sin %v : vector<16xf32>
  return %0, %1 : f32, vector<16xf32>
}

// CHECK-LABEL: func @f64
//       CHECK: math.exp
func.func @f64(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// CHECK-LABEL: func @bf16
//   CHECK-NOT: arith.truncf
//       CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @bf16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// With `afn`, a quotient of polynomials; without, no division and two ranges.
// CHECK-LABEL: func @erf
//       CHECK: arith.divf
//   CHECK-NOT: arith.divf
//       CHECK: math.copysign
//       CHECK: return
func.func @erf(%x: f32) -> (f32, f32) {
  %0 = math.erf %x fastmath<afn> : f32
  %1 = math.erf %x : f32
  return %0, %1 : f32, f32
}

// CHECK-LABEL: func @others
//   CHECK-NOT: math.{{tanh|expm1|log1p|atanh|powf}}
//       CHECK: return
func.func @others(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.tanh %x : vector<8xf32>
  %1 = math.expm1 %0 : vector<8xf32>
  %2 = math.log1p %1 : vector<8xf32>
  %3 = math.atanh %2 : vector<8xf32>
  %4 = math.powf %3, %x : vector<8xf32>
  return %4 : vector<8xf32>
}
