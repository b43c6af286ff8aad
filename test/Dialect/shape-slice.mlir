// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// The bounds of kvern.slice: dims count from 0, `unit` is a run-time operand.

// Sizes are rounded up; nothing is read where the stop is not after the start.
// CHECK-LABEL: func.func @dims
func.func @dims(%x: !kvern.tensor<[n], f32, cpu:0>, %y: !kvern.tensor<[10, m], f32, cpu:0>, %z: !kvern.tensor<[], f32, cpu:0>) {
  // CHECK: kvern.slice %arg0 {out_dims = [unit], starts = [#kvern.dim<1>], steps = array<i64: 2>, stops = [#kvern.dim<n>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2], f32, cpu:0>
  %0 = kvern.slice %x {out_dims = [unit], starts = [#kvern.dim<1>], steps = array<i64: 2>, stops = [#kvern.dim<n>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2], f32, cpu:0>
  // CHECK: kvern.slice %arg0 {out_dims = [unit], starts = [#kvern.dim<n - 3>], steps = array<i64: 1>, stops = [#kvern.dim<n>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[3], f32, cpu:0>
  %1 = kvern.slice %x {out_dims = [unit], starts = [#kvern.dim<n - 3>], steps = array<i64: 1>, stops = [#kvern.dim<n>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[3], f32, cpu:0>
  // CHECK: kvern.slice %arg0 {out_dims = [unit], starts = [#kvern.dim<n - 1>], steps = array<i64: -1>, stops = [#kvern.dim<-1>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  %2 = kvern.slice %x {out_dims = [unit], starts = [#kvern.dim<n - 1>], steps = array<i64: -1>, stops = [#kvern.dim<-1>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  // CHECK: kvern.slice %arg1 {out_dims = [unit, unit], starts = [#kvern.dim<9>, #kvern.dim<0>], steps = array<i64: -3, 1>, stops = [#kvern.dim<-1>, #kvern.dim<m>]} : (!kvern.tensor<[10, m], f32, cpu:0>) -> !kvern.tensor<[4, m], f32, cpu:0>
  %3 = kvern.slice %y {out_dims = [unit, unit], starts = [#kvern.dim<9>, #kvern.dim<0>], steps = array<i64: -3, 1>, stops = [#kvern.dim<-1>, #kvern.dim<m>]} : (!kvern.tensor<[10, m], f32, cpu:0>) -> !kvern.tensor<[4, m], f32, cpu:0>
  // CHECK: kvern.slice %arg1 {out_dims = [unit, unit], starts = [#kvern.dim<20>, #kvern.dim<5>], steps = array<i64: -1, 1>, stops = [#kvern.dim<30>, #kvern.dim<2>]} : (!kvern.tensor<[10, m], f32, cpu:0>) -> !kvern.tensor<[0, 0], f32, cpu:0>
  %4 = kvern.slice %y {out_dims = [unit, unit], starts = [#kvern.dim<20>, #kvern.dim<5>], steps = array<i64: -1, 1>, stops = [#kvern.dim<30>, #kvern.dim<2>]} : (!kvern.tensor<[10, m], f32, cpu:0>) -> !kvern.tensor<[0, 0], f32, cpu:0>
  // CHECK: kvern.slice %arg2 {out_dims = [], starts = [], steps = array<i64>, stops = []} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  %5 = kvern.slice %z {out_dims = [], starts = [], steps = array<i64>, stops = []} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}

// A size may be named; it is checked when the graph runs.
// CHECK-LABEL: func.func @named
func.func @named(%x: !kvern.tensor<[n], f32, cpu:0>) {
  // CHECK: kvern.slice %arg0 {out_dims = [#kvern.dim<m>], starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<n - 1>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  %0 = kvern.slice %x {out_dims = [#kvern.dim<m>], starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<n - 1>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  // CHECK: kvern.slice %arg0 {out_dims = [#kvern.dim<3>], starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<3>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[3], f32, cpu:0>
  %1 = kvern.slice %x {out_dims = [#kvern.dim<3>], starts = [#kvern.dim<0>], steps = array<i64: 1>, stops = [#kvern.dim<3>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[3], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @runtime
func.func @runtime(%x: !kvern.tensor<[n, 8], f32, cpu:0>, %i: !kvern.tensor<[], i64, cpu:0>, %j: !kvern.tensor<[], ui32, cpu:0>) {
  // CHECK: kvern.slice %arg0, %arg1 {out_dims = [#kvern.dim<m>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<8>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[m, 8], f32, cpu:0>
  %0 = kvern.slice %x, %i {out_dims = [#kvern.dim<m>, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<8>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[m, 8], f32, cpu:0>
  // CHECK: kvern.slice %arg0, %arg1, %arg2 {out_dims = [#kvern.dim<m>, #kvern.dim<k>], starts = [#kvern.dim<0>, unit], steps = array<i64: -1, 2>, stops = [unit, #kvern.dim<8>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[m, k], f32, cpu:0>
  %1 = kvern.slice %x, %i, %j {out_dims = [#kvern.dim<m>, #kvern.dim<k>], starts = [#kvern.dim<0>, unit], steps = array<i64: -1, 2>, stops = [unit, #kvern.dim<8>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[m, k], f32, cpu:0>
  // CHECK: kvern.slice %arg0, %arg1, %arg1 {out_dims = [#kvern.dim<4>, unit], starts = [unit, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<0>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[4, 0], f32, cpu:0>
  %2 = kvern.slice %x, %i, %i {out_dims = [#kvern.dim<4>, unit], starts = [unit, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [unit, #kvern.dim<0>]} : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[4, 0], f32, cpu:0>
  return
}
