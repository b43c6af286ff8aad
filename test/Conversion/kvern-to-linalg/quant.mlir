// RUN: kvern-opt %s -kvern-convert-to-linalg | FileCheck %s

// Numbers: the scale is read from two bytes; elements of 4 bits are halves.
// CHECK-LABEL: func.func private @dequantize
// CHECK: linalg.generic
// CHECK: tensor.extract %{{.*}} : tensor<?x36xi8>
// CHECK: arith.bitcast %{{.*}} : i16 to f16
// CHECK: linalg.yield %{{.*}} : f32
func.func private @dequantize(%w: !kvern.tensor<[n, 36], ui8, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.dequantize %w {encoding = "q4_0"} : (!kvern.tensor<[n, 36], ui8, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 64], f32, cpu:0>
}

// The definition: a product with the numbers.
// CHECK-LABEL: func.func private @product
// CHECK: %[[W:.*]] = linalg.generic
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[W]] :
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func private @product(%x: !kvern.tensor<[m, 64], bf16, cpu:0>, %w: !kvern.tensor<[n, 36], ui8, cpu:0>) -> !kvern.tensor<[m, n], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q4_0"} : (!kvern.tensor<[m, 64], bf16, cpu:0>, !kvern.tensor<[n, 36], ui8, cpu:0>) -> !kvern.tensor<[m, n], bf16, cpu:0>
  return %0 : !kvern.tensor<[m, n], bf16, cpu:0>
}

// What is packed, and read in that order, stay ops until their loops are emitted.
// CHECK-LABEL: func.func private @pack
// CHECK: kvern.loop.pack_quantized %{{.*}}, %{{.*}} {encoding = "q8_0"} : (tensor<17x68xi8>, tensor<2x2x544xi8>) -> tensor<2x2x544xi8>
func.func private @pack(%w: !kvern.tensor<[17, 68], ui8, cpu:0>) -> !kvern.tensor<[2, 2, 544], ui8, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.pack_quantized %w {encoding = "q8_0"} : (!kvern.tensor<[17, 68], ui8, cpu:0>) -> !kvern.tensor<[2, 2, 544], ui8, cpu:0>
  return %0 : !kvern.tensor<[2, 2, 544], ui8, cpu:0>
}

// CHECK-LABEL: func.func private @packed
// CHECK: kvern.loop.quantized_product %{{.*}}, %{{.*}}, %{{.*}} {activations = "int8", encoding = "q8_0"} : (tensor<?x64xf32>, tensor<2x2x544xi8>, tensor<?x17xf32>) -> tensor<?x17xf32>
func.func private @packed(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.packed_quantized_matmul %x, %p {activations = "int8", columns = 17 : i64, encoding = "q8_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return %0 : !kvern.tensor<[m, 17], f32, cpu:0>
}
