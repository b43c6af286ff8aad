// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!x = !kvern.tensor<[n, 4], f32, cpu:0>
!mask = !kvern.tensor<[n, 4], i1, cpu:0>

// CHECK-LABEL: func.func @unary
// CHECK-SAME: (%arg0: [[X:.*]], %arg1: [[MASK:.*]])
func.func @unary(%x: !x, %mask: !mask) {
  // CHECK: kvern.acos %arg0 : ([[X]]) -> [[X]]
  %0 = kvern.acos %x : (!x) -> !x
  // CHECK: kvern.atanh %arg0 : ([[X]]) -> [[X]]
  %1 = kvern.atanh %x : (!x) -> !x
  // CHECK: kvern.ceil %arg0 : ([[X]]) -> [[X]]
  %2 = kvern.ceil %x : (!x) -> !x
  // CHECK: kvern.cos %arg0 : ([[X]]) -> [[X]]
  %3 = kvern.cos %x : (!x) -> !x
  // CHECK: kvern.erf %arg0 : ([[X]]) -> [[X]]
  %4 = kvern.erf %x : (!x) -> !x
  // CHECK: kvern.exp %arg0 : ([[X]]) -> [[X]]
  %5 = kvern.exp %x : (!x) -> !x
  // CHECK: kvern.floor %arg0 : ([[X]]) -> [[X]]
  %6 = kvern.floor %x : (!x) -> !x
  // CHECK: kvern.log %arg0 : ([[X]]) -> [[X]]
  %7 = kvern.log %x : (!x) -> !x
  // CHECK: kvern.log1p %arg0 : ([[X]]) -> [[X]]
  %8 = kvern.log1p %x : (!x) -> !x
  // CHECK: kvern.round %arg0 : ([[X]]) -> [[X]]
  %9 = kvern.round %x : (!x) -> !x
  // CHECK: kvern.rsqrt %arg0 : ([[X]]) -> [[X]]
  %10 = kvern.rsqrt %x : (!x) -> !x
  // CHECK: kvern.sigmoid %arg0 : ([[X]]) -> [[X]]
  %11 = kvern.sigmoid %x : (!x) -> !x
  // CHECK: kvern.silu %arg0 : ([[X]]) -> [[X]]
  %12 = kvern.silu %x : (!x) -> !x
  // CHECK: kvern.sin %arg0 : ([[X]]) -> [[X]]
  %13 = kvern.sin %x : (!x) -> !x
  // CHECK: kvern.sqrt %arg0 : ([[X]]) -> [[X]]
  %14 = kvern.sqrt %x : (!x) -> !x
  // CHECK: kvern.tanh %arg0 : ([[X]]) -> [[X]]
  %15 = kvern.tanh %x : (!x) -> !x
  // CHECK: kvern.trunc %arg0 : ([[X]]) -> [[X]]
  %16 = kvern.trunc %x : (!x) -> !x
  // CHECK: kvern.abs %arg0 : ([[X]]) -> [[X]]
  %17 = kvern.abs %x : (!x) -> !x
  // CHECK: kvern.negate %arg0 : ([[X]]) -> [[X]]
  %18 = kvern.negate %x : (!x) -> !x
  // CHECK: kvern.relu %arg0 : ([[X]]) -> [[X]]
  %19 = kvern.relu %x : (!x) -> !x
  // CHECK: kvern.gelu %arg0 : ([[X]]) -> [[X]]
  %20 = kvern.gelu %x : (!x) -> !x
  // CHECK: kvern.gelu %arg0 : ([[X]]) -> [[X]]
  %21 = kvern.gelu %x {approximate = "none"} : (!x) -> !x
  // CHECK: kvern.gelu %arg0 {approximate = "tanh"} : ([[X]]) -> [[X]]
  %22 = kvern.gelu %x {approximate = "tanh"} : (!x) -> !x
  // CHECK: kvern.gelu %arg0 {approximate = "quick"} : ([[X]]) -> [[X]]
  %23 = kvern.gelu %x {approximate = "quick"} : (!x) -> !x
  // CHECK: kvern.is_inf %arg0 : ([[X]]) -> [[MASK]]
  %24 = kvern.is_inf %x : (!x) -> !mask
  // CHECK: kvern.is_nan %arg0 : ([[X]]) -> [[MASK]]
  %25 = kvern.is_nan %x : (!x) -> !mask
  // CHECK: kvern.logical_not %arg1 : ([[MASK]]) -> [[MASK]]
  %26 = kvern.logical_not %mask : (!mask) -> !mask
  return
}

// CHECK-LABEL: func.func @integers
// CHECK-SAME: (%arg0: [[I:.*]], %arg1: [[U:.*]])
func.func @integers(%i: !kvern.tensor<[], i8, cpu:0>, %u: !kvern.tensor<[], ui64, gpu:1>) {
  // CHECK: kvern.abs %arg0 : ([[I]]) -> [[I]]
  %0 = kvern.abs %i : (!kvern.tensor<[], i8, cpu:0>) -> !kvern.tensor<[], i8, cpu:0>
  // CHECK: kvern.abs %arg1 : ([[U]]) -> [[U]]
  %1 = kvern.abs %u : (!kvern.tensor<[], ui64, gpu:1>) -> !kvern.tensor<[], ui64, gpu:1>
  // CHECK: kvern.negate %arg0 : ([[I]]) -> [[I]]
  %2 = kvern.negate %i : (!kvern.tensor<[], i8, cpu:0>) -> !kvern.tensor<[], i8, cpu:0>
  // CHECK: kvern.negate %arg1 : ([[U]]) -> [[U]]
  %3 = kvern.negate %u : (!kvern.tensor<[], ui64, gpu:1>) -> !kvern.tensor<[], ui64, gpu:1>
  // CHECK: kvern.relu %arg0 : ([[I]]) -> [[I]]
  %4 = kvern.relu %i : (!kvern.tensor<[], i8, cpu:0>) -> !kvern.tensor<[], i8, cpu:0>
  // CHECK: kvern.relu %arg1 : ([[U]]) -> [[U]]
  %5 = kvern.relu %u : (!kvern.tensor<[], ui64, gpu:1>) -> !kvern.tensor<[], ui64, gpu:1>
  return
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: !x, %mask: !mask) {
  // CHECK: kvern.cast %arg0 {dtype = i1} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i1, cpu:0>
  %0 = kvern.cast %x {dtype = i1} : (!x) -> !kvern.tensor<[n, 4], i1, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = i8} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i8, cpu:0>
  %1 = kvern.cast %x {dtype = i8} : (!x) -> !kvern.tensor<[n, 4], i8, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = i16} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i16, cpu:0>
  %2 = kvern.cast %x {dtype = i16} : (!x) -> !kvern.tensor<[n, 4], i16, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = i32} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i32, cpu:0>
  %3 = kvern.cast %x {dtype = i32} : (!x) -> !kvern.tensor<[n, 4], i32, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i64, cpu:0>
  %4 = kvern.cast %x {dtype = i64} : (!x) -> !kvern.tensor<[n, 4], i64, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = ui8} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], ui8, cpu:0>
  %5 = kvern.cast %x {dtype = ui8} : (!x) -> !kvern.tensor<[n, 4], ui8, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = ui16} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], ui16, cpu:0>
  %6 = kvern.cast %x {dtype = ui16} : (!x) -> !kvern.tensor<[n, 4], ui16, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = ui32} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], ui32, cpu:0>
  %7 = kvern.cast %x {dtype = ui32} : (!x) -> !kvern.tensor<[n, 4], ui32, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = ui64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], ui64, cpu:0>
  %8 = kvern.cast %x {dtype = ui64} : (!x) -> !kvern.tensor<[n, 4], ui64, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f16} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f16, cpu:0>
  %9 = kvern.cast %x {dtype = f16} : (!x) -> !kvern.tensor<[n, 4], f16, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = bf16} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], bf16, cpu:0>
  %10 = kvern.cast %x {dtype = bf16} : (!x) -> !kvern.tensor<[n, 4], bf16, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f32} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  %11 = kvern.cast %x {dtype = f32} : (!x) -> !kvern.tensor<[n, 4], f32, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f64, cpu:0>
  %12 = kvern.cast %x {dtype = f64} : (!x) -> !kvern.tensor<[n, 4], f64, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f4E2M1FN} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f4E2M1FN, cpu:0>
  %13 = kvern.cast %x {dtype = f4E2M1FN} : (!x) -> !kvern.tensor<[n, 4], f4E2M1FN, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f8E8M0FNU} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f8E8M0FNU, cpu:0>
  %14 = kvern.cast %x {dtype = f8E8M0FNU} : (!x) -> !kvern.tensor<[n, 4], f8E8M0FNU, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f8E4M3FN} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f8E4M3FN, cpu:0>
  %15 = kvern.cast %x {dtype = f8E4M3FN} : (!x) -> !kvern.tensor<[n, 4], f8E4M3FN, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f8E4M3FNUZ} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f8E4M3FNUZ, cpu:0>
  %16 = kvern.cast %x {dtype = f8E4M3FNUZ} : (!x) -> !kvern.tensor<[n, 4], f8E4M3FNUZ, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f8E5M2} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f8E5M2, cpu:0>
  %17 = kvern.cast %x {dtype = f8E5M2} : (!x) -> !kvern.tensor<[n, 4], f8E5M2, cpu:0>
  // CHECK: kvern.cast %arg0 {dtype = f8E5M2FNUZ} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f8E5M2FNUZ, cpu:0>
  %18 = kvern.cast %x {dtype = f8E5M2FNUZ} : (!x) -> !kvern.tensor<[n, 4], f8E5M2FNUZ, cpu:0>
  return
}
