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
