// RUN: kvern-opt %s -canonicalize -cse | FileCheck %s

!x = !kvern.tensor<[2], f32, cpu:0>
!i = !kvern.tensor<[n], i64, cpu:0>

// CHECK-LABEL: func.func @common
func.func @common() -> (!x, !x, !x, !x, !x, !i, !i) {
  // CHECK-DAG: %[[C:.*]] = kvern.constant {device = #kvern.device<cpu:0>
  // CHECK-DAG: %[[W:.*]] = kvern.weight {name = "w"}
  // CHECK-DAG: %[[V:.*]] = kvern.weight {name = "v"}
  // CHECK-DAG: %[[R:.*]] = kvern.range
  // CHECK: return %[[C]], %[[C]], %[[W]], %[[W]], %[[V]], %[[R]], %[[R]]
  %0 = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !x
  %1 = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !x
  %2 = kvern.weight {name = "w"} : !x
  %3 = kvern.weight {name = "w"} : !x
  %4 = kvern.weight {name = "v"} : !x
  %5 = kvern.range {start = 0 : i64, step = 1 : i64, size = #kvern.dim<n>, device = #kvern.device<cpu:0>} : () -> !i
  %6 = kvern.range {start = 0 : i64, step = 1 : i64, size = #kvern.dim<n>, device = #kvern.device<cpu:0>} : () -> !i
  return %0, %1, %2, %3, %4, %5, %6 : !x, !x, !x, !x, !x, !i, !i
}

// Equal data on two devices is two constants.
// CHECK-LABEL: func.func @devices
func.func @devices() -> (!x, !kvern.tensor<[2], f32, gpu:0>) {
  // CHECK-DAG: %[[CPU:.*]] = kvern.constant {device = #kvern.device<cpu:0>
  // CHECK-DAG: %[[GPU:.*]] = kvern.constant {device = #kvern.device<gpu:0>
  // CHECK: return %[[CPU]], %[[GPU]]
  %0 = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !x
  %1 = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<gpu:0>} : () -> !kvern.tensor<[2], f32, gpu:0>
  return %0, %1 : !x, !kvern.tensor<[2], f32, gpu:0>
}

// CHECK-LABEL: func.func @unused
func.func @unused() {
  // CHECK-NEXT: return
  %0 = kvern.weight {name = "w"} : !x
  %1 = kvern.shape_to_tensor {shape = #kvern.shape<[n]>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[1], i64, cpu:0>
  return
}
