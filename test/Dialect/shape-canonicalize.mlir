// RUN: kvern-opt %s -canonicalize | FileCheck %s

!x = !kvern.tensor<[n, 8], f32, cpu:0>
!flat = !kvern.tensor<[n * 8], f32, cpu:0>
!t = !kvern.tensor<[8, n], f32, cpu:0>

// CHECK-LABEL: func.func @identity
func.func @identity(%x: !x) -> (!x, !x, !x, !x, !x, !x) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0
  %0 = kvern.reshape %x {shape = #kvern.shape<[n, 8]>} : (!x) -> !x
  %1 = kvern.rebind %x {shape = #kvern.shape<[n, 8]>, message = "same"} : (!x) -> !x
  %2 = kvern.broadcast_to %x {shape = #kvern.shape<[n, 8]>} : (!x) -> !x
  %3 = kvern.permute %x {permutation = array<i64: 0, 1>} : (!x) -> !x
  %4 = kvern.concat %x {axis = 0 : i64} : (!x) -> !x
  %5 = kvern.slice %x {starts = [#kvern.dim<0>, #kvern.dim<0>], stops = [#kvern.dim<n>, #kvern.dim<8>], steps = array<i64: 1, 1>, out_dims = [unit, unit]} : (!x) -> !x
  return %0, %1, %2, %3, %4, %5 : !x, !x, !x, !x, !x, !x
}

// A check that the graph needs is not folded away.
// CHECK-LABEL: func.func @checked
func.func @checked(%x: !kvern.tensor<[n], f32, cpu:0>) -> (!kvern.tensor<[m], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>) {
  // CHECK: kvern.rebind
  // CHECK: kvern.slice
  %0 = kvern.rebind %x {shape = #kvern.shape<[m]>} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  %1 = kvern.slice %x {starts = [#kvern.dim<0>], stops = [#kvern.dim<5>], steps = array<i64: 1>, out_dims = [#kvern.dim<n>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[m], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>
}

// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: !x) -> (!kvern.tensor<[1, n * 8], f32, cpu:0>, !x) {
  // CHECK-NEXT: %[[R:.*]] = kvern.reshape %arg0 {shape = #kvern.shape<[1, n * 8]>}
  // CHECK-NEXT: return %[[R]], %arg0
  %0 = kvern.reshape %x {shape = #kvern.shape<[n * 8]>} : (!x) -> !flat
  %1 = kvern.unsqueeze %0 {axis = 0 : i64} : (!flat) -> !kvern.tensor<[1, n * 8], f32, cpu:0>
  %2 = kvern.squeeze %1 {axis = 0 : i64} : (!kvern.tensor<[1, n * 8], f32, cpu:0>) -> !flat
  %3 = kvern.reshape %2 {shape = #kvern.shape<[n, 8]>} : (!flat) -> !x
  return %1, %3 : !kvern.tensor<[1, n * 8], f32, cpu:0>, !x
}

// CHECK-LABEL: func.func @permutes
func.func @permutes(%x: !x, %y: !kvern.tensor<[a, b, c], f32, cpu:0>) -> (!x, !kvern.tensor<[b, a, c], f32, cpu:0>) {
  // CHECK-NEXT: %[[P:.*]] = kvern.permute %arg1 {permutation = array<i64: 1, 0, 2>}
  // CHECK-NEXT: return %arg0, %[[P]]
  %0 = kvern.permute %x {permutation = array<i64: 1, 0>} : (!x) -> !t
  %1 = kvern.permute %0 {permutation = array<i64: 1, 0>} : (!t) -> !x
  %2 = kvern.permute %y {permutation = array<i64: 2, 0, 1>} : (!kvern.tensor<[a, b, c], f32, cpu:0>) -> !kvern.tensor<[c, a, b], f32, cpu:0>
  %3 = kvern.permute %2 {permutation = array<i64: 2, 1, 0>} : (!kvern.tensor<[c, a, b], f32, cpu:0>) -> !kvern.tensor<[b, a, c], f32, cpu:0>
  return %1, %3 : !x, !kvern.tensor<[b, a, c], f32, cpu:0>
}

// A permute that moves only axes of size 1 moves no element.
// CHECK-LABEL: func.func @permute_ones
func.func @permute_ones(%x: !kvern.tensor<[1, n, 1, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8, 1, 1], f32, cpu:0> {
  // CHECK-NEXT: kvern.reshape %arg0 {shape = #kvern.shape<[n, 8, 1, 1]>}
  %0 = kvern.permute %x {permutation = array<i64: 1, 3, 2, 0>} : (!kvern.tensor<[1, n, 1, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8, 1, 1], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 8, 1, 1], f32, cpu:0>
}

// CHECK-LABEL: func.func @stack
func.func @stack(%x: !x, %y: !x) -> !kvern.tensor<[n, 2, 8], f32, cpu:0> {
  // CHECK-DAG: %[[X:.*]] = kvern.reshape %arg0 {shape = #kvern.shape<[n, 1, 8]>}
  // CHECK-DAG: %[[Y:.*]] = kvern.reshape %arg1 {shape = #kvern.shape<[n, 1, 8]>}
  // CHECK: kvern.concat %[[X]], %[[Y]] {axis = 1 : i64}
  %0 = kvern.stack %x, %y {axis = 1 : i64} : (!x, !x) -> !kvern.tensor<[n, 2, 8], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 2, 8], f32, cpu:0>
}

// CHECK-LABEL: func.func @split
func.func @split(%x: !kvern.tensor<[4, n + 2], f32, cpu:0>) -> (!kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[4, n], f32, cpu:0>) {
  // CHECK: %[[A:.*]] = kvern.slice %arg0 {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<0>], steps = array<i64: 1, 1>, stops = [#kvern.dim<4>, #kvern.dim<2>]}
  // CHECK: %[[B:.*]] = kvern.slice %arg0 {out_dims = [unit, unit], starts = [#kvern.dim<0>, #kvern.dim<2>], steps = array<i64: 1, 1>, stops = [#kvern.dim<4>, #kvern.dim<n + 2>]}
  // CHECK: return %[[A]], %[[B]]
  %0:2 = kvern.split %x {axis = 1 : i64, sizes = #kvern.shape<[2, n]>} : (!kvern.tensor<[4, n + 2], f32, cpu:0>) -> (!kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[4, n], f32, cpu:0>)
  return %0#0, %0#1 : !kvern.tensor<[4, 2], f32, cpu:0>, !kvern.tensor<[4, n], f32, cpu:0>
}

// CHECK-LABEL: func.func @split_whole
func.func @split_whole(%x: !x) -> !x {
  // CHECK-NEXT: return %arg0
  %0 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[n]>} : (!x) -> (!x)
  return %0 : !x
}
