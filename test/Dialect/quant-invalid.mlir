// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @encoding_c1(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected an encoding among q8_0, q4_0, q4_1, and int<4 or 8>_g<32, 64 or 128> with or without _min, but got q4_k}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q4_k"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @encoding_c1_group(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected an encoding among q8_0, q4_0, q4_1, and int<4 or 8>_g<32, 64 or 128> with or without _min, but got int4_g16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "int4_g16"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @encoding_c2(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[n, 67], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected the last size of blocks [n, 67] to be a number divisible by the bytes of a block of q8_0 (34), but got 67}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[n, 67], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @encoding_c2_symbolic(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[n, k], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected the last size of blocks [n, k] to be a number divisible by the bytes of a block of q4_1 (20), but got k}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q4_1"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[n, k], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @activations_c1(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected activations exact or int8, but got int4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "int4", encoding = "q8_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @quantized_matmul_c1(%x: !kvern.tensor<[64], f32, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected lhs of rank 2 or more and element type f32, bf16 or f16, but got}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @quantized_matmul_c1_f64(%x: !kvern.tensor<[m, 64], f64, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected lhs of rank 2 or more and element type f32, bf16 or f16, but got}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[m, 64], f64, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @quantized_matmul_c2(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[2, n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected blocks of rank 2, but got [2, n, 68]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[2, n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @quantized_matmul_c3(%x: !kvern.tensor<[m, 32], f32, cpu:0>, %w: !kvern.tensor<[n, 68], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.quantized_matmul' op expected the last size of lhs [m, 32] to be the number of elements that a row of q8_0 blocks [n, 68] holds (64), but got 32}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.quantized_matmul %x, %w {activations = "exact", encoding = "q8_0"} : (!kvern.tensor<[m, 32], f32, cpu:0>, !kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[m, n], f32, cpu:0>
  return
}

// -----

func.func @dequantize_c1(%w: !kvern.tensor<[], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.dequantize' op expected blocks of rank 1 or more, but got a scalar}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.dequantize %w {encoding = "q8_0"} : (!kvern.tensor<[], ui8, cpu:0>) -> !kvern.tensor<[32], f32, cpu:0>
  return
}

// -----

func.func @pack_quantized_c1(%w: !kvern.tensor<[n, 34], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.pack_quantized' op expected blocks of rank 2 and static sizes of 1 or more, but got [n, 34]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack_quantized %w {encoding = "q8_0"} : (!kvern.tensor<[n, 34], ui8, cpu:0>) -> !kvern.tensor<[1, 1, 544], ui8, cpu:0>
  return
}

// -----

func.func @pack_quantized_c1_rank(%w: !kvern.tensor<[2, 2, 34], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.pack_quantized' op expected blocks of rank 2 and static sizes of 1 or more, but got [2, 2, 34]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack_quantized %w {encoding = "q8_0"} : (!kvern.tensor<[2, 2, 34], ui8, cpu:0>) -> !kvern.tensor<[1, 1, 544], ui8, cpu:0>
  return
}

// -----

func.func @pack_quantized_c1_empty(%w: !kvern.tensor<[0, 34], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.pack_quantized' op expected blocks of rank 2 and static sizes of 1 or more, but got [0, 34]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack_quantized %w {encoding = "q8_0"} : (!kvern.tensor<[0, 34], ui8, cpu:0>) -> !kvern.tensor<[1, 1, 544], ui8, cpu:0>
  return
}

// -----

func.func @packed_quantized_matmul_c1(%x: !kvern.tensor<[64], f32, cpu:0>, %w: !kvern.tensor<[2, 2, 544], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_quantized_matmul' op expected lhs of rank 2 or more and element type f32, bf16 or f16, but got}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_quantized_matmul %x, %w {activations = "int8", columns = 17 : i64, encoding = "q8_0"} : (!kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return
}

// -----

func.func @packed_quantized_matmul_c2(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %w: !kvern.tensor<[2, 2, 544], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_quantized_matmul' op expected panels of 33 columns for lhs [m, 64] in encoding q8_0, but got [2, 2, 544]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_quantized_matmul %x, %w {activations = "int8", columns = 33 : i64, encoding = "q8_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return
}

// -----

func.func @packed_quantized_matmul_c2_depth(%x: !kvern.tensor<[m, k], f32, cpu:0>, %w: !kvern.tensor<[2, 2, 544], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_quantized_matmul' op expected panels of 17 columns for lhs [m, k] in encoding q8_0, but got [2, 2, 544]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_quantized_matmul %x, %w {activations = "int8", columns = 17 : i64, encoding = "q8_0"} : (!kvern.tensor<[m, k], f32, cpu:0>, !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return
}

// -----

func.func @packed_quantized_matmul_c2_group(%x: !kvern.tensor<[m, 60], f32, cpu:0>, %w: !kvern.tensor<[2, 2, 544], ui8, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_quantized_matmul' op expected panels of 17 columns for lhs [m, 60] in encoding q8_0, but got [2, 2, 544]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_quantized_matmul %x, %w {activations = "int8", columns = 17 : i64, encoding = "q8_0"} : (!kvern.tensor<[m, 60], f32, cpu:0>, !kvern.tensor<[2, 2, 544], ui8, cpu:0>) -> !kvern.tensor<[m, 17], f32, cpu:0>
  return
}

// -----

func.func @loop_quantized_product_c1(%x: memref<?x64xf32>, %w: memref<2x2x544xi8>, %o: memref<?x17xf16>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected lhs, panels and out of a product with q8_0 weights, but got}}
  kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (memref<?x64xf32>, memref<2x2x544xi8>, memref<?x17xf16>) -> ()
  return
}

// -----

func.func @loop_quantized_product_c1_depth(%x: memref<?x32xf32>, %w: memref<2x2x544xi8>, %o: memref<?x17xf32>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected lhs, panels and out of a product with q8_0 weights, but got}}
  kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (memref<?x32xf32>, memref<2x2x544xi8>, memref<?x17xf32>) -> ()
  return
}

// -----

func.func @loop_quantized_product_c1_bytes(%x: memref<?x64xf32>, %w: memref<2x2x543xi8>, %o: memref<?x17xf32>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected lhs, panels and out of a product with q8_0 weights, but got}}
  kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (memref<?x64xf32>, memref<2x2x543xi8>, memref<?x17xf32>) -> ()
  return
}

// -----

func.func @loop_quantized_product_c2(%x: memref<?x64xf32>, %w: memref<2x2x544xi8>, %o: tensor<?x17xf32>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected tensors and a result of the type of out, or memrefs and no result, but got 1 results}}
  %0 = kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (memref<?x64xf32>, memref<2x2x544xi8>, tensor<?x17xf32>) -> tensor<?x17xf32>
  return
}

// -----

func.func @loop_quantized_product_c2_results(%x: tensor<?x64xf32>, %w: tensor<2x2x544xi8>, %o: tensor<?x17xf32>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected tensors and a result of the type of out, or memrefs and no result, but got 0 results}}
  kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (tensor<?x64xf32>, tensor<2x2x544xi8>, tensor<?x17xf32>) -> ()
  return
}

// -----

func.func @loop_quantized_product_c1_columns(%x: memref<?x64xf32>, %w: memref<2x2x544xi8>, %o: memref<?x33xf32>) {
  // expected-error @+1 {{'kvern.loop.quantized_product' op expected lhs, panels and out of a product with q8_0 weights, but got}}
  kvern.loop.quantized_product %x, %w, %o {activations = "int8", encoding = "q8_0"} : (memref<?x64xf32>, memref<2x2x544xi8>, memref<?x33xf32>) -> ()
  return
}

// -----

func.func @loop_pack_quantized_c1(%w: memref<17x68xi8>, %p: memref<2x1x544xi8>) {
  // expected-error @+1 {{'kvern.loop.pack_quantized' op expected blocks and panels of q8_0 weights, but got}}
  kvern.loop.pack_quantized %w, %p {encoding = "q8_0"} : (memref<17x68xi8>, memref<2x1x544xi8>) -> ()
  return
}

// -----

func.func @loop_pack_quantized_c2(%w: tensor<17x68xi8>, %p: tensor<2x2x544xi8>) {
  // expected-error @+1 {{'kvern.loop.pack_quantized' op expected tensors and a result of the type of out, or memrefs and no result, but got 0 results}}
  kvern.loop.pack_quantized %w, %p {encoding = "q8_0"} : (tensor<17x68xi8>, tensor<2x2x544xi8>) -> ()
  return
}

// -----

func.func @packed_quantized_gather_c1(%p: !kvern.tensor<[2, 2, 320], ui8, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_quantized_gather' op expected panels of 33 rows in encoding q4_1, but got [2, 2, 320]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_quantized_gather %p, %i {encoding = "q4_1", rows = 33 : i64} : (!kvern.tensor<[2, 2, 320], ui8, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}
