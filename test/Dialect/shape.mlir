// RUN: kvern-opt %s | kvern-opt | FileCheck %s
// RUN: kvern-opt %s -mlir-print-op-generic | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %y: !kvern.tensor<[0, n], f32, cpu:0>, %z: !kvern.tensor<[], f32, cpu:0>) {
  // CHECK: kvern.reshape %arg0 {shape = #kvern.shape<[n * 8, 8]>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n * 8, 8], f32, cpu:0>
  %0 = kvern.reshape %x {shape = #kvern.shape<[n * 8, 8]>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n * 8, 8], f32, cpu:0>
  // CHECK: kvern.reshape %arg0 {shape = #kvern.shape<[n * 64]>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n * 64], f32, cpu:0>
  %1 = kvern.reshape %x {shape = #kvern.shape<[n * 64]>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n * 64], f32, cpu:0>
  // CHECK: kvern.reshape %arg1 {shape = #kvern.shape<[5, 0]>} : (!kvern.tensor<[0, n], f32, cpu:0>) -> !kvern.tensor<[5, 0], f32, cpu:0>
  %2 = kvern.reshape %y {shape = #kvern.shape<[5, 0]>} : (!kvern.tensor<[0, n], f32, cpu:0>) -> !kvern.tensor<[5, 0], f32, cpu:0>
  // CHECK: kvern.reshape %arg2 {shape = #kvern.shape<[1, 1]>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[1, 1], f32, cpu:0>
  %3 = kvern.reshape %z {shape = #kvern.shape<[1, 1]>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[1, 1], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @squeeze
func.func @squeeze(%x: !kvern.tensor<[n, 1], f32, cpu:0>, %y: !kvern.tensor<[1], f32, cpu:0>) {
  // CHECK: kvern.squeeze %arg0 {axis = 1 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  %0 = kvern.squeeze %x {axis = 1 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  // CHECK: kvern.squeeze %arg1 {axis = 0 : i64} : (!kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  %1 = kvern.squeeze %y {axis = 0 : i64} : (!kvern.tensor<[1], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  // CHECK: kvern.unsqueeze %arg0 {axis = 0 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[1, n, 1], f32, cpu:0>
  %2 = kvern.unsqueeze %x {axis = 0 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[1, n, 1], f32, cpu:0>
  // CHECK: kvern.unsqueeze %arg0 {axis = 2 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n, 1, 1], f32, cpu:0>
  %3 = kvern.unsqueeze %x {axis = 2 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n, 1, 1], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @rebind
func.func @rebind(%x: !kvern.tensor<[b * s, 64], f32, cpu:0>) {
  // CHECK: kvern.rebind %arg0 {message = "tokens of all batches", shape = #kvern.shape<[tokens, 64]>} : (!kvern.tensor<[b * s, 64], f32, cpu:0>) -> !kvern.tensor<[tokens, 64], f32, cpu:0>
  %0 = kvern.rebind %x {message = "tokens of all batches", shape = #kvern.shape<[tokens, 64]>} : (!kvern.tensor<[b * s, 64], f32, cpu:0>) -> !kvern.tensor<[tokens, 64], f32, cpu:0>
  // CHECK: kvern.rebind %arg0 {shape = #kvern.shape<[12, 64]>} : (!kvern.tensor<[b * s, 64], f32, cpu:0>) -> !kvern.tensor<[12, 64], f32, cpu:0>
  %1 = kvern.rebind %x {shape = #kvern.shape<[12, 64]>} : (!kvern.tensor<[b * s, 64], f32, cpu:0>) -> !kvern.tensor<[12, 64], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @broadcast_to
func.func @broadcast_to(%x: !kvern.tensor<[1, 64], f32, cpu:0>, %y: !kvern.tensor<[], f32, cpu:0>) {
  // CHECK: kvern.broadcast_to %arg0 {shape = #kvern.shape<[b, n, 64]>} : (!kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 64], f32, cpu:0>
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[b, n, 64]>} : (!kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 64], f32, cpu:0>
  // CHECK: kvern.broadcast_to %arg0 {shape = #kvern.shape<[0, 64]>} : (!kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[0, 64], f32, cpu:0>
  %1 = kvern.broadcast_to %x {shape = #kvern.shape<[0, 64]>} : (!kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[0, 64], f32, cpu:0>
  // CHECK: kvern.broadcast_to %arg1 {shape = #kvern.shape<[n]>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  %2 = kvern.broadcast_to %y {shape = #kvern.shape<[n]>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @permute
func.func @permute(%x: !kvern.tensor<[a, b, c], f32, cpu:0>, %y: !kvern.tensor<[], f32, cpu:0>) {
  // CHECK: kvern.permute %arg0 {permutation = array<i64: 2, 0, 1>} : (!kvern.tensor<[a, b, c], f32, cpu:0>) -> !kvern.tensor<[c, a, b], f32, cpu:0>
  %0 = kvern.permute %x {permutation = array<i64: 2, 0, 1>} : (!kvern.tensor<[a, b, c], f32, cpu:0>) -> !kvern.tensor<[c, a, b], f32, cpu:0>
  // CHECK: kvern.permute %arg1 {permutation = array<i64>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  %1 = kvern.permute %y {permutation = array<i64>} : (!kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @concat
func.func @concat(%x: !kvern.tensor<[n, 4], f32, cpu:0>, %y: !kvern.tensor<[m, 4], f32, cpu:0>, %z: !kvern.tensor<[0, 4], f32, cpu:0>) {
  // CHECK: kvern.concat %arg0, %arg1 {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[m, 4], f32, cpu:0>) -> !kvern.tensor<[m + n, 4], f32, cpu:0>
  %0 = kvern.concat %x, %y {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[m, 4], f32, cpu:0>) -> !kvern.tensor<[m + n, 4], f32, cpu:0>
  // CHECK: kvern.concat %arg0 {axis = 1 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  %1 = kvern.concat %x {axis = 1 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
  // CHECK: kvern.concat %arg0, %arg2, %arg0 {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[0, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n * 2, 4], f32, cpu:0>
  %2 = kvern.concat %x, %z, %x {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[0, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n * 2, 4], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @stack
func.func @stack(%x: !kvern.tensor<[n, 4], f32, cpu:0>) {
  // CHECK: kvern.stack %arg0, %arg0 {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[2, n, 4], f32, cpu:0>
  %0 = kvern.stack %x, %x {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[2, n, 4], f32, cpu:0>
  // CHECK: kvern.stack %arg0 {axis = 2 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4, 1], f32, cpu:0>
  %1 = kvern.stack %x {axis = 2 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4, 1], f32, cpu:0>
  return
}

// CHECK-LABEL: func.func @split
func.func @split(%x: !kvern.tensor<[n + 1, 4], f32, cpu:0>) {
  // CHECK: kvern.split %arg0 {axis = 0 : i64, sizes = #kvern.shape<[1, 0, n]>} : (!kvern.tensor<[n + 1, 4], f32, cpu:0>) -> (!kvern.tensor<[1, 4], f32, cpu:0>, !kvern.tensor<[0, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>)
  %0:3 = kvern.split %x {axis = 0 : i64, sizes = #kvern.shape<[1, 0, n]>} : (!kvern.tensor<[n + 1, 4], f32, cpu:0>) -> (!kvern.tensor<[1, 4], f32, cpu:0>, !kvern.tensor<[0, 4], f32, cpu:0>, !kvern.tensor<[n, 4], f32, cpu:0>)
  return
}

// CHECK-LABEL: func.func @shape_to_tensor
func.func @shape_to_tensor() {
  // CHECK: kvern.shape_to_tensor {device = #kvern.device<gpu:1>, shape = #kvern.shape<[n, 64]>} : () -> !kvern.tensor<[2], i64, gpu:1>
  %0 = kvern.shape_to_tensor {device = #kvern.device<gpu:1>, shape = #kvern.shape<[n, 64]>} : () -> !kvern.tensor<[2], i64, gpu:1>
  // CHECK: kvern.shape_to_tensor {device = #kvern.device<cpu:0>, shape = #kvern.shape<[]>} : () -> !kvern.tensor<[0], i64, cpu:0>
  %1 = kvern.shape_to_tensor {device = #kvern.device<cpu:0>, shape = #kvern.shape<[]>} : () -> !kvern.tensor<[0], i64, cpu:0>
  return
}
