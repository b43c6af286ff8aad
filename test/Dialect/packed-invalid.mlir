// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @pack_c1_rank(%w: !kvern.tensor<[2, 3, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pack' op expected a matrix of sizes of 1 or more, but got [2, 3, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack %w {panel = 16 : i64} : (!kvern.tensor<[2, 3, 4], f32, cpu:0>) -> !kvern.tensor<[1, 1, 1], f32, cpu:0>
  return
}

// -----

func.func @pack_c1_empty(%w: !kvern.tensor<[0, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pack' op expected a matrix of sizes of 1 or more, but got [0, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack %w {panel = 16 : i64} : (!kvern.tensor<[0, 4], f32, cpu:0>) -> !kvern.tensor<[1, 1, 1], f32, cpu:0>
  return
}

// -----

func.func @pack_c2(%w: !kvern.tensor<[4, 4], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.pack' op expected a panel of 1 to 1024 columns, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.pack %w {panel = 0 : i64} : (!kvern.tensor<[4, 4], f32, cpu:0>) -> !kvern.tensor<[1, 1, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c1(%x: !kvern.tensor<[64], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected lhs of rank 2 or more, but got [64]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 100 : i64} : (!kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c2(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[7, k, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected panels of three static sizes of 1 or more, but got [7, k, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 100 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, k, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c2_rank(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected panels of three static sizes of 1 or more, but got [64, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 100 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c3(%x: !kvern.tensor<[m, 65], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected the last size of lhs [m, 65] to be the rows of panels [7, 64, 16], but got 65 and 64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 100 : i64} : (!kvern.tensor<[m, 65], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c4(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected columns from 97 to 112 for panels [7, 64, 16], but got 96}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 96 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c4_above(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected columns from 97 to 112 for panels [7, 64, 16], but got 113}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 113 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 1], f32, cpu:0>
  return
}

// -----

func.func @packed_matmul_c5(%x: !kvern.tensor<[m, 64], bf16, cpu:0>, %p: !kvern.tensor<[7, 64, 16], f32, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_matmul' op expected panels of the element type of lhs, or of f16 or bf16 with a lhs of f32, but got lhs of 'bf16' and panels of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_matmul %x, %p {columns = 100 : i64} : (!kvern.tensor<[m, 64], bf16, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 100], bf16, cpu:0>
  return
}

// -----

func.func @packed_gather_c1(%p: !kvern.tensor<[7, k, 16], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_gather' op expected panels of three static sizes of 1 or more, but got [7, k, 16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_gather %p, %i {columns = 100 : i64} : (!kvern.tensor<[7, k, 16], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, k], f32, cpu:0>
  return
}

// -----

func.func @packed_gather_c2(%p: !kvern.tensor<[7, 64, 16], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) {
  // expected-error @+2 {{'kvern.packed_gather' op expected columns from 97 to 112 for panels [7, 64, 16], but got 113}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kvern.packed_gather %p, %i {columns = 113 : i64} : (!kvern.tensor<[7, 64, 16], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return
}
