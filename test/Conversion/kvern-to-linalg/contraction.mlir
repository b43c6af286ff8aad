// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Loops: batch, m, n, k. A batch axis of size 1 is read at 0.

// CHECK-DAG:   #[[LHS:.+]] = affine_map<(d0, d1, d2, d3) -> (0, d1, d3)>
// CHECK-DAG:   #[[RHS:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG:   #[[OUT:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: @matmul(
// CHECK:         %[[ZERO:.+]] = arith.constant 0.0{{.*}} : f32
// CHECK:         %[[INIT:.+]] = linalg.fill ins(%[[ZERO]] : f32)
// CHECK:         linalg.generic {indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]]
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:      outs(%[[INIT]] : tensor<?x?x32xf32>)
// CHECK:         ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32, %[[ACC:.+]]: f32):
// CHECK-NEXT:      %[[P:.+]] = arith.mulf %[[X]], %[[Y]]
// CHECK-NEXT:      %[[S:.+]] = arith.addf %[[P]], %[[ACC]] fastmath<reassoc,contract>
// CHECK-NEXT:      linalg.yield %[[S]]
// CHECK-NOT:     linalg.generic
func.func private @matmul(%x: !kvern.tensor<[1, m, 64], f32, cpu:0>, %y: !kvern.tensor<[b, 32, 64], f32, cpu:0>) -> !kvern.tensor<[b, m, 32], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.matmul %x, %y {transpose_rhs} : (!kvern.tensor<[1, m, 64], f32, cpu:0>, !kvern.tensor<[b, 32, 64], f32, cpu:0>) -> !kvern.tensor<[b, m, 32], f32, cpu:0>
  return %0 : !kvern.tensor<[b, m, 32], f32, cpu:0>
}

// -----

// Half precision accumulates in f32 and is rounded once.

// CHECK-DAG:   #[[RHS:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: @half(
// CHECK:         %[[P:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[RHS]], #{{.+}}]
// CHECK-SAME:      outs(%{{.+}} : tensor<?x32xf32>)
// CHECK:           arith.extf %{{.+}} : f16 to f32
// CHECK:           arith.extf %{{.+}} : f16 to f32
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<?x32xf32>) outs(%{{.+}} : tensor<?x32xf16>)
// CHECK:           arith.truncf %{{.+}} : f32 to f16
func.func private @half(%x: !kvern.tensor<[m, 64], f16, cpu:0>, %y: !kvern.tensor<[64, 32], f16, cpu:0>) -> !kvern.tensor<[m, 32], f16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[m, 64], f16, cpu:0>, !kvern.tensor<[64, 32], f16, cpu:0>) -> !kvern.tensor<[m, 32], f16, cpu:0>
  return %0 : !kvern.tensor<[m, 32], f16, cpu:0>
}

// -----

// Nothing to sum.

// CHECK-LABEL: @empty(
// CHECK:         linalg.fill ins(%{{.+}} : i32) outs(%{{.+}} : tensor<2x3xi32>)
// CHECK-NOT:     linalg.generic
func.func private @empty(%x: !kvern.tensor<[2, 0], i32, cpu:0>, %y: !kvern.tensor<[0, 3], i32, cpu:0>) -> !kvern.tensor<[2, 3], i32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.matmul %x, %y : (!kvern.tensor<[2, 0], i32, cpu:0>, !kvern.tensor<[0, 3], i32, cpu:0>) -> !kvern.tensor<[2, 3], i32, cpu:0>
  return %0 : !kvern.tensor<[2, 3], i32, cpu:0>
}
