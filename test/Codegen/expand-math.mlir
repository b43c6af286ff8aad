// RUN: kvern-opt %s -kvern-expand-math | FileCheck %s

// f32 becomes arithmetic, f64 stays a call of libm, bf16 needs no library.

// CHECK-LABEL: func.func @single
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: return
func.func @single(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @double
// CHECK: math.exp
func.func @double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @half
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @half(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
