// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One product with a weight, for processors of different vectors: the width of
// panels, and register tiles of 14 x 32, 6 x 16 and 6 x 8.
// RUN: kvern-opt %s -kvern-to-loops="cpu=skylake-avx512" | FileCheck %s --check-prefix=AVX512
// RUN: kvern-opt %s -kvern-to-loops="cpu=x86-64-v3" | FileCheck %s --check-prefix=AVX2
// RUN: kvern-opt %s -kvern-to-loops="cpu=skylake-avx512 features=-avx512bw" | FileCheck %s --check-prefix=AVX2
// RUN: kvern-opt %s -kvern-to-loops="cpu=x86-64" | FileCheck %s --check-prefix=SSE

// AVX512-DAG: kvern.schedule = ["product: weights packed by 32, register tiles 14x32
// AVX512-DAG: vector.fma {{.*}} vector<16xf32>
// AVX2-DAG: kvern.schedule = ["product: weights packed by 16, register tiles 6x16
// AVX2-DAG: vector.fma {{.*}} vector<8xf32>
// SSE-DAG: kvern.schedule = ["product: weights packed by 8, register tiles 6x8
// SSE-DAG: vector.fma {{.*}} vector<4xf32>
func.func @linear(%x: !kvern.tensor<[rows, 128], f32, cpu:0>) -> !kvern.tensor<[rows, 96], f32, cpu:0> {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[96, 128], f32, cpu:0>
  %0 = kvern.matmul %x, %w {transpose_rhs} : (!kvern.tensor<[rows, 128], f32, cpu:0>, !kvern.tensor<[96, 128], f32, cpu:0>) -> !kvern.tensor<[rows, 96], f32, cpu:0>
  return %0 : !kvern.tensor<[rows, 96], f32, cpu:0>
}
