// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

!x = !kvern.tensor<[n, 4], f32, cpu:0>
!row = !kvern.tensor<[4], f32, cpu:0>
!mask = !kvern.tensor<[n, 4], i1, cpu:0>

// CHECK-LABEL: func.func @binary
// CHECK-SAME: (%arg0: [[X:.*]], %arg1: [[ROW:.*]], %arg2: [[MASK:.*]])
func.func @binary(%x: !x, %row: !row, %mask: !mask) {
  // CHECK: kvern.add %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %0 = kvern.add %x, %row : (!x, !row) -> !x
  // CHECK: kvern.sub %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %1 = kvern.sub %x, %row : (!x, !row) -> !x
  // CHECK: kvern.mul %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %2 = kvern.mul %x, %row : (!x, !row) -> !x
  // CHECK: kvern.div %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %3 = kvern.div %x, %row : (!x, !row) -> !x
  // CHECK: kvern.floor_div %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %4 = kvern.floor_div %x, %row : (!x, !row) -> !x
  // CHECK: kvern.mod %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %5 = kvern.mod %x, %row : (!x, !row) -> !x
  // CHECK: kvern.pow %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %6 = kvern.pow %x, %row : (!x, !row) -> !x
  // CHECK: kvern.max %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %7 = kvern.max %x, %row : (!x, !row) -> !x
  // CHECK: kvern.min %arg0, %arg1 : ([[X]], [[ROW]]) -> [[X]]
  %8 = kvern.min %x, %row : (!x, !row) -> !x
  // CHECK: kvern.equal %arg0, %arg1 : ([[X]], [[ROW]]) -> [[MASK]]
  %9 = kvern.equal %x, %row : (!x, !row) -> !mask
  // CHECK: kvern.not_equal %arg0, %arg1 : ([[X]], [[ROW]]) -> [[MASK]]
  %10 = kvern.not_equal %x, %row : (!x, !row) -> !mask
  // CHECK: kvern.greater %arg0, %arg1 : ([[X]], [[ROW]]) -> [[MASK]]
  %11 = kvern.greater %x, %row : (!x, !row) -> !mask
  // CHECK: kvern.greater_equal %arg0, %arg1 : ([[X]], [[ROW]]) -> [[MASK]]
  %12 = kvern.greater_equal %x, %row : (!x, !row) -> !mask
  // CHECK: kvern.logical_and %arg2, %arg2 : ([[MASK]], [[MASK]]) -> [[MASK]]
  %13 = kvern.logical_and %mask, %mask : (!mask, !mask) -> !mask
  // CHECK: kvern.logical_or %arg2, %arg2 : ([[MASK]], [[MASK]]) -> [[MASK]]
  %14 = kvern.logical_or %mask, %mask : (!mask, !mask) -> !mask
  // CHECK: kvern.logical_xor %arg2, %arg2 : ([[MASK]], [[MASK]]) -> [[MASK]]
  %15 = kvern.logical_xor %mask, %mask : (!mask, !mask) -> !mask
  // CHECK: kvern.equal %arg2, %arg2 : ([[MASK]], [[MASK]]) -> [[MASK]]
  %16 = kvern.equal %mask, %mask : (!mask, !mask) -> !mask
  // CHECK: kvern.not_equal %arg2, %arg2 : ([[MASK]], [[MASK]]) -> [[MASK]]
  %17 = kvern.not_equal %mask, %mask : (!mask, !mask) -> !mask
  // CHECK: kvern.where %arg2, %arg0, %arg1 : ([[MASK]], [[X]], [[ROW]]) -> [[X]]
  %18 = kvern.where %mask, %x, %row : (!mask, !x, !row) -> !x
  return
}

// Shapes are aligned at the last axis.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%scalar: !kvern.tensor<[], ui8, cpu:0>, %column: !kvern.tensor<[n, 1], ui8, cpu:0>, %row: !kvern.tensor<[1, m * 2], ui8, cpu:0>, %one: !kvern.tensor<[1], ui8, cpu:0>, %empty: !kvern.tensor<[0], ui8, cpu:0>) {
  // CHECK: kvern.add %arg1, %arg2 : {{.*}} -> !kvern.tensor<[n, m * 2], ui8, cpu:0>
  %0 = kvern.add %column, %row : (!kvern.tensor<[n, 1], ui8, cpu:0>, !kvern.tensor<[1, m * 2], ui8, cpu:0>) -> !kvern.tensor<[n, m * 2], ui8, cpu:0>
  // CHECK: kvern.max %arg0, %arg1 : {{.*}} -> !kvern.tensor<[n, 1], ui8, cpu:0>
  %1 = kvern.max %scalar, %column : (!kvern.tensor<[], ui8, cpu:0>, !kvern.tensor<[n, 1], ui8, cpu:0>) -> !kvern.tensor<[n, 1], ui8, cpu:0>
  // CHECK: kvern.mul %arg3, %arg4 : {{.*}} -> !kvern.tensor<[0], ui8, cpu:0>
  %2 = kvern.mul %one, %empty : (!kvern.tensor<[1], ui8, cpu:0>, !kvern.tensor<[0], ui8, cpu:0>) -> !kvern.tensor<[0], ui8, cpu:0>
  // CHECK: kvern.greater %arg0, %arg0 : {{.*}} -> !kvern.tensor<[], i1, cpu:0>
  %3 = kvern.greater %scalar, %scalar : (!kvern.tensor<[], ui8, cpu:0>, !kvern.tensor<[], ui8, cpu:0>) -> !kvern.tensor<[], i1, cpu:0>
  // CHECK: kvern.where {{.*}} -> !kvern.tensor<[n, m * 2], ui8, cpu:0>
  %4 = kvern.where %3, %column, %row : (!kvern.tensor<[], i1, cpu:0>, !kvern.tensor<[n, 1], ui8, cpu:0>, !kvern.tensor<[1, m * 2], ui8, cpu:0>) -> !kvern.tensor<[n, m * 2], ui8, cpu:0>
  return
}
