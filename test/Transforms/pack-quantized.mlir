// RUN: kvern-opt %s -kvern-pack-quantized | FileCheck %s

// CHECK-LABEL: func.func @weight
// CHECK: %[[W:.*]] = kvern.weight
// CHECK-NEXT: %[[P:.*]] = kvern.pack_quantized %[[W]] {encoding = "q4_0"} : {{.*}} -> !kvern.tensor<[7, 2, 288], ui8, cpu:0>
// CHECK: %[[Y:.*]] = kvern.packed_quantized_matmul %{{.*}}, %[[P]] {activations = "int8", columns = 100 : i64, encoding = "q4_0"}
// CHECK: kvern.packed_quantized_matmul %{{.*}}, %[[P]] {activations = "exact"
// CHECK-NOT: kvern.quantized_matmul
func.func @weight(%x: !kvern.tensor<[m, 64], f32, cpu:0>) -> (!kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>) {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[100, 36], ui8, cpu:0>
  %0 = kvern.quantized_matmul %x, %w {activations = "int8", encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  %1 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>
}

// CHECK-LABEL: func.func @input
// CHECK: kvern.quantized_matmul
func.func @input(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0> {
  %0 = kvern.quantized_matmul %x, %w {activations = "int8", encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  return %0 : !kvern.tensor<[m, 100], f32, cpu:0>
}

// Gathers of rows that become numbers read the panels.

// CHECK-LABEL: func.func @tied
// CHECK: %[[P:.*]] = kvern.pack_quantized
// CHECK-NEXT: %[[X:.*]] = kvern.packed_quantized_gather %[[P]], %{{.*}} {encoding = "q4_0", rows = 100 : i64}
// CHECK-NEXT: kvern.packed_quantized_matmul %[[X]], %[[P]]
func.func @tied(%i: !kvern.tensor<[m], i64, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0> {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[100, 36], ui8, cpu:0>
  %0 = kvern.gather %w, %i {axis = 0 : i64} : (!kvern.tensor<[100, 36], ui8, cpu:0>, !kvern.tensor<[m], i64, cpu:0>) -> !kvern.tensor<[m, 36], ui8, cpu:0>
  %1 = kvern.dequantize %0 {encoding = "q4_0"} : (!kvern.tensor<[m, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 64], f32, cpu:0>
  %2 = kvern.quantized_matmul %1, %w {activations = "exact", encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  return %2 : !kvern.tensor<[m, 100], f32, cpu:0>
}
