// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// CHECK-LABEL: func.func @product
// CHECK: kvern.quantized_matmul %{{.*}}, %{{.*}} {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[b, m, n], bf16, cpu:0>
func.func @product(%x: !kvern.tensor<[b, m, 64], bf16, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[b, m, n], bf16, cpu:0> {
  %0 = kvern.quantized_matmul %x, %w {encoding = "q8_0", activations = "exact"} : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[b, m, n], bf16, cpu:0>
  return %0 : !kvern.tensor<[b, m, n], bf16, cpu:0>
}

// CHECK-LABEL: func.func @numbers
// CHECK: kvern.dequantize %{{.*}} {encoding = "int4_g128_min"} : (!kvern.tensor<[136], ui8, cpu:0>) -> !kvern.tensor<[256], f32, cpu:0>
func.func @numbers(%w: !kvern.tensor<[136], ui8, cpu:0>) -> !kvern.tensor<[256], f32, cpu:0> {
  %0 = kvern.dequantize %w {encoding = "int4_g128_min"} : (!kvern.tensor<[136], ui8, cpu:0>) -> !kvern.tensor<[256], f32, cpu:0>
  return %0 : !kvern.tensor<[256], f32, cpu:0>
}

// CHECK-LABEL: func.func @packed
// CHECK: kvern.pack_quantized %{{.*}} {encoding = "q4_1"} : (!kvern.tensor<[17, 40], ui8, cpu:0>) -> !kvern.tensor<[2, 2, 320], ui8, cpu:0>
// CHECK: kvern.packed_quantized_matmul %{{.*}}, %{{.*}} {activations = "int8", columns = 17 : i64, encoding = "q4_1"}
func.func @packed(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[17, 40], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0> {
  %0 = kvern.pack_quantized %w {encoding = "q4_1"} : (!kvern.tensor<[17, 40], ui8, cpu:0>) -> !kvern.tensor<[2, 2, 320], ui8, cpu:0>
  %1 = kvern.packed_quantized_matmul %x, %0 {activations = "int8", columns = 17 : i64, encoding = "q4_1"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[2, 2, 320], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return %1 : !kvern.tensor<[m, 17], f32, cpu:0>
}

// CHECK-LABEL: func.func @in_a_kernel
// CHECK: kvern.loop.quantized_product %{{.*}}, %{{.*}}, %{{.*}} {activations = "exact", encoding = "int8_g64"} : (tensor<?x64xf16>, tensor<1x1x1056xi8>, tensor<?x3xf16>) -> tensor<?x3xf16>
func.func @in_a_kernel(%x: tensor<?x64xf16>, %p: tensor<1x1x1056xi8>, %out: tensor<?x3xf16>) -> tensor<?x3xf16> {
  %0 = kvern.loop.quantized_product %x, %p, %out {activations = "exact", encoding = "int8_g64"} : (tensor<?x64xf16>, tensor<1x1x1056xi8>, tensor<?x3xf16>) -> tensor<?x3xf16>
  return %0 : tensor<?x3xf16>
}

// CHECK-LABEL: func.func @packed_in_a_kernel
// CHECK: kvern.loop.pack_quantized %{{.*}}, %{{.*}} {encoding = "q4_1"} : (tensor<17x40xi8>, tensor<2x2x320xi8>) -> tensor<2x2x320xi8>
func.func @packed_in_a_kernel(%w: tensor<17x40xi8>, %p: tensor<2x2x320xi8>) -> tensor<2x2x320xi8> {
  %0 = kvern.loop.pack_quantized %w, %p {encoding = "q4_1"} : (tensor<17x40xi8>, tensor<2x2x320xi8>) -> tensor<2x2x320xi8>
  return %0 : tensor<2x2x320xi8>
}

// CHECK-LABEL: func.func @large_blocks
// CHECK: kvern.dequantize %{{.*}} {encoding = "q6_k"} : (!kvern.tensor<[n, 420], ui8, cpu:0>) -> !kvern.tensor<[n, 512], f32, cpu:0>
func.func @large_blocks(%w: !kvern.tensor<[n, 420], ui8, cpu:0>) -> !kvern.tensor<[n, 512], f32, cpu:0> {
  %0 = kvern.dequantize %w {encoding = "q6_k"} : (!kvern.tensor<[n, 420], ui8, cpu:0>) -> !kvern.tensor<[n, 512], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 512], f32, cpu:0>
}

// CHECK-LABEL: func.func @packed_rows
// CHECK: kvern.packed_quantized_gather %{{.*}}, %{{.*}} {encoding = "q4_1", rows = 17 : i64} : (!kvern.tensor<[2, 2, 320], ui8, cpu:0>, !kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
func.func @packed_rows(%p: !kvern.tensor<[2, 2, 320], ui8, cpu:0>, %i: !kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0> {
  %0 = kvern.packed_quantized_gather %p, %i {encoding = "q4_1", rows = 17 : i64} : (!kvern.tensor<[2, 2, 320], ui8, cpu:0>, !kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 64], f32, cpu:0>
}
