// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @sizes
func.func @sizes() {
  // CHECK: kvern.check.sizes {lhs = #kvern.dim<n>, rhs = #kvern.dim<m * 2>, subject = "size of axis 0"}
  kvern.check.sizes {lhs = #kvern.dim<n>, rhs = #kvern.dim<m * 2>, subject = "size of axis 0"}
  // CHECK: kvern.check.sizes {at_most, lhs = #kvern.dim<5>, rhs = #kvern.dim<n>, subject = "the slice of axis 0 to stop within the axis"}
  kvern.check.sizes {at_most, lhs = #kvern.dim<5>, rhs = #kvern.dim<n>, subject = "the slice of axis 0 to stop within the axis"}
  return
}

// CHECK-LABEL: func.func @indices
func.func @indices(%low: !kvern.tensor<[1], i64, cpu:0>, %high: !kvern.tensor<[1, 1], i64, cpu:0>) {
  // CHECK: kvern.check.indices %arg0, %arg1 {axis = 0 : i64, size = #kvern.dim<1000>} : !kvern.tensor<[1], i64, cpu:0>, !kvern.tensor<[1, 1], i64, cpu:0>
  kvern.check.indices %low, %high {axis = 0 : i64, size = #kvern.dim<1000>} : !kvern.tensor<[1], i64, cpu:0>, !kvern.tensor<[1, 1], i64, cpu:0>
  return
}

// CHECK-LABEL: func.func @slice
func.func @slice(%i: !kvern.tensor<[], i64, cpu:0>, %j: !kvern.tensor<[], ui32, cpu:0>) {
  // CHECK: kvern.check.slice %arg0 {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop} : !kvern.tensor<[], i64, cpu:0>
  kvern.check.slice %i {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop} : !kvern.tensor<[], i64, cpu:0>
  // CHECK: kvern.check.slice %arg0, %arg1 {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = -2 : i64, stop} : !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], ui32, cpu:0>
  kvern.check.slice %i, %j {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start, step = -2 : i64, stop} : !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], ui32, cpu:0>
  // CHECK: kvern.check.slice {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop = #kvern.dim<n - 1>}
  kvern.check.slice {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop = #kvern.dim<n - 1>}
  return
}
