// RUN: kvern-opt %s --kvern-form-kernels --kvern-hoist-initializers | FileCheck %s

// All packs are made by one kernel; casts and the like by one for each shape.

// CHECK-LABEL: func.func @graph
// CHECK-NEXT: %[[A:.+]] = kvern.weight {name = "a"}
// CHECK-NEXT: %[[PA:.+]] = kvern.derived_weight @[[PACK:initialize_pack.*]](%[[A]]) : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
// CHECK-NEXT: kvern.call @{{.+}}(%{{.+}}, %[[PA]])
// CHECK-NEXT: %[[B:.+]] = kvern.weight {name = "b"}
// CHECK-NEXT: %[[C:.+]] = kvern.derived_weight @[[CAST:initialize_cast.*]](%[[B]])
// CHECK-NEXT: %[[PC:.+]] = kvern.derived_weight @[[PACK]](%[[C]]) : (!kvern.tensor<[32, 100], f32, cpu:0>) -> !kvern.tensor<[2, 100, 16], f32, cpu:0>
// CHECK-NEXT: kvern.call @{{.+}}(%{{.+}}, %[[PC]])
func.func @graph(%x: !kvern.tensor<[m, 64], f32, cpu:0>) -> !kvern.tensor<[m, 32], f32, cpu:0> {
  %a = kvern.weight {name = "a"} : !kvern.tensor<[100, 64], f32, cpu:0>
  %pa = kvern.pack %a {panel = 16 : i64, transposed} : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
  %0 = kvern.packed_matmul %x, %pa {columns = 100 : i64} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
  %b = kvern.weight {name = "b"} : !kvern.tensor<[32, 100], bf16, cpu:0>
  %c = kvern.cast %b {dtype = f32} : (!kvern.tensor<[32, 100], bf16, cpu:0>) -> !kvern.tensor<[32, 100], f32, cpu:0>
  %pc = kvern.pack %c {panel = 16 : i64, transposed} : (!kvern.tensor<[32, 100], f32, cpu:0>) -> !kvern.tensor<[2, 100, 16], f32, cpu:0>
  %1 = kvern.packed_matmul %0, %pc {columns = 32 : i64} : (!kvern.tensor<[m, 100], f32, cpu:0>, !kvern.tensor<[2, 100, 16], f32, cpu:0>) -> !kvern.tensor<[m, 32], f32, cpu:0>
  return %1 : !kvern.tensor<[m, 32], f32, cpu:0>
}

// What takes much more memory than its operands is computed in each run.

// CHECK-LABEL: func.func @large
// CHECK: kvern.call
func.func @large() -> !kvern.tensor<[4096, 4096], f32, cpu:0> {
  %a = kvern.weight {name = "row"} : !kvern.tensor<[4096], f32, cpu:0>
  %b = kvern.weight {name = "column"} : !kvern.tensor<[4096, 1], f32, cpu:0>
  %0 = kvern.add %a, %b : (!kvern.tensor<[4096], f32, cpu:0>, !kvern.tensor<[4096, 1], f32, cpu:0>) -> !kvern.tensor<[4096, 4096], f32, cpu:0>
  return %0 : !kvern.tensor<[4096, 4096], f32, cpu:0>
}

// Tables of angles are kept all the same: their elements take longer to compute than to read.

// CHECK-LABEL: func.func @angles
// CHECK: kvern.derived_weight @initialize_mul_cos
func.func @angles() -> !kvern.tensor<[4096, 4096], f32, cpu:0> {
  %a = kvern.weight {name = "row"} : !kvern.tensor<[4096], f32, cpu:0>
  %b = kvern.weight {name = "column"} : !kvern.tensor<[4096, 1], f32, cpu:0>
  %0 = kvern.mul %a, %b : (!kvern.tensor<[4096], f32, cpu:0>, !kvern.tensor<[4096, 1], f32, cpu:0>) -> !kvern.tensor<[4096, 4096], f32, cpu:0>
  %1 = kvern.cos %0 : (!kvern.tensor<[4096, 4096], f32, cpu:0>) -> !kvern.tensor<[4096, 4096], f32, cpu:0>
  return %1 : !kvern.tensor<[4096, 4096], f32, cpu:0>
}

// CHECK: func.func @[[PACK]](%{{.+}}: !kvern.tensor<[d0, d1], f32, cpu:0>) -> !kvern.tensor<[(d0 + 15) floordiv 16, d1, 16], f32, cpu:0> attributes {kvern.initializer = "{{[0-9a-f]+}}", kvern.rows = 16 : i64}
// CHECK-NEXT: kvern.call @[[KERNEL:.+]](%{{.+}}) {dims = {d0 = #kvern.dim<d0>, d1 = #kvern.dim<d1>}}
// CHECK: func.func private @[[KERNEL]]
// CHECK: func.func @[[CAST]]
// CHECK-NOT: kvern.pack %
