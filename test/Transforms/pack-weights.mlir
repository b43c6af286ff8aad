// RUN: kvern-opt %s --kvern-pack-weights="panel-bits=512" | FileCheck %s
// RUN: kvern-opt %s --kvern-pack-weights="panel-bits=1024" | FileCheck %s --check-prefix=WIDE

// One pack for all products with a weight; gathers of rows read it too.

// CHECK-LABEL: func.func @tied
// CHECK: %[[W:.+]] = kvern.weight
// CHECK-NEXT: %[[P:.+]] = kvern.pack %[[W]] {panel = 16 : i64, transposed} : {{.*}} -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
// CHECK-NEXT: kvern.packed_gather %[[P]], %{{.*}} {columns = 100 : i64}
// CHECK-NEXT: kvern.packed_matmul %{{.*}}, %[[P]] {columns = 100 : i64}
// CHECK-NEXT: kvern.packed_matmul %{{.*}}, %[[P]] {columns = 100 : i64}
// WIDE-LABEL: func.func @tied
// WIDE: kvern.pack %{{.*}} {panel = 32 : i64, transposed}
func.func @tied(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %i: !kvern.tensor<[m], i64, cpu:0>) -> (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>) {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[100, 64], f32, cpu:0>
  %0 = kvern.gather %w, %i {axis = 0 : i64} : (!kvern.tensor<[100, 64], f32, cpu:0>, !kvern.tensor<[m], i64, cpu:0>) -> !kvern.tensor<[m, 64], f32, cpu:0>
  %1 = kvern.matmul %x, %w {transpose_rhs} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  %2 = kvern.matmul %0, %w {transpose_rhs} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  return %0, %1, %2 : !kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>
}

// Whoever reads it otherwise keeps it, and gathers read it then.

// CHECK-LABEL: func.func @read_otherwise
// CHECK: %[[W:.+]] = kvern.weight
// CHECK: kvern.gather %[[W]]
// CHECK: kvern.packed_matmul
func.func @read_otherwise(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %i: !kvern.tensor<[m], i64, cpu:0>) -> (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[100, 1], f32, cpu:0>) {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[100, 64], f32, cpu:0>
  %0 = kvern.gather %w, %i {axis = 0 : i64} : (!kvern.tensor<[100, 64], f32, cpu:0>, !kvern.tensor<[m], i64, cpu:0>) -> !kvern.tensor<[m, 64], f32, cpu:0>
  %1 = kvern.matmul %x, %w {transpose_rhs} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  %2 = kvern.reduce_max %w {axis = 1 : i64} : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[100, 1], f32, cpu:0>
  return %0, %1, %2 : !kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[100, 1], f32, cpu:0>
}

// Widening is left to the product.

// CHECK-LABEL: func.func @widened
// CHECK: %[[W:.+]] = kvern.weight
// CHECK-NEXT: %[[P:.+]] = kvern.pack %[[W]] {panel = 16 : i64, transposed} : {{.*}} -> !kvern.tensor<[7, 64, 16], bf16, cpu:0>
// CHECK-NEXT: kvern.packed_matmul %{{.*}}, %[[P]] {columns = 100 : i64}
// CHECK-NEXT: return
func.func @widened(%x: !kvern.tensor<[m, 64], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0> {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[100, 64], bf16, cpu:0>
  %0 = kvern.permute %w {permutation = array<i64: 1, 0>} : (!kvern.tensor<[100, 64], bf16, cpu:0>) -> !kvern.tensor<[64, 100], bf16, cpu:0>
  %1 = kvern.cast %0 {dtype = f32} : (!kvern.tensor<[64, 100], bf16, cpu:0>) -> !kvern.tensor<[64, 100], f32, cpu:0>
  %2 = kvern.matmul %x, %1 : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[64, 100], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  return %2 : !kvern.tensor<[m, 100], f32, cpu:0>
}

// What depends on weights only is packed too. Sums of bf16 are 32 bits wide.

// CHECK-LABEL: func.func @cast
// CHECK: %[[C:.+]] = kvern.cast
// CHECK-NEXT: %[[P:.+]] = kvern.pack %[[C]] {panel = 16 : i64} : {{.*}} -> !kvern.tensor<[4, 64, 16], bf16, cpu:0>
// CHECK-NEXT: kvern.packed_matmul
func.func @cast(%x: !kvern.tensor<[b, m, 64], bf16, cpu:0>) -> !kvern.tensor<[b, m, 64], bf16, cpu:0> {
  %w = kvern.weight {name = "w"} : !kvern.tensor<[64, 64], f32, cpu:0>
  %0 = kvern.cast %w {dtype = bf16} : (!kvern.tensor<[64, 64], f32, cpu:0>) -> !kvern.tensor<[64, 64], bf16, cpu:0>
  %1 = kvern.matmul %x, %0 : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[64, 64], bf16, cpu:0>) -> !kvern.tensor<[b, m, 64], bf16, cpu:0>
  return %1 : !kvern.tensor<[b, m, 64], bf16, cpu:0>
}

// Small ones, mostly padding ones, and what is known only during the run stay.

// CHECK-LABEL: func.func @not_packed
// CHECK-NOT: kvern.pack
func.func @not_packed(%x: !kvern.tensor<[m, 64], f32, cpu:0>, %y: !kvern.tensor<[64, 64], f32, cpu:0>) -> (!kvern.tensor<[m, 16], f32, cpu:0>, !kvern.tensor<[m, 18], f32, cpu:0>, !kvern.tensor<[m, 64], f32, cpu:0>) {
  %small = kvern.weight {name = "small"} : !kvern.tensor<[64, 16], f32, cpu:0>
  %0 = kvern.matmul %x, %small : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 16], f32, cpu:0>
  %padded = kvern.weight {name = "padded"} : !kvern.tensor<[64, 18], f32, cpu:0>
  %1 = kvern.matmul %x, %padded : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[64, 18], f32, cpu:0>) -> !kvern.tensor<[m, 18], f32, cpu:0>
  %2 = kvern.matmul %x, %y : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[64, 64], f32, cpu:0>) -> !kvern.tensor<[m, 64], f32, cpu:0>
  return %0, %1, %2 : !kvern.tensor<[m, 16], f32, cpu:0>, !kvern.tensor<[m, 18], f32, cpu:0>, !kvern.tensor<[m, 64], f32, cpu:0>
}
