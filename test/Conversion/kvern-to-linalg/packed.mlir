// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Loops: batch, m, n, k. Column n lies in panel n floordiv 16.

// CHECK-DAG:   #[[LHS:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG:   #[[RHS:.+]] = affine_map<(d0, d1, d2, d3) -> (d2 floordiv 16, d3, d2 mod 16)>
// CHECK-DAG:   #[[OUT:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: @packed_matmul(
// CHECK:         linalg.generic {indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]]
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:      ins(%{{.+}}, %{{.+}} : tensor<?x?x64xbf16>, tensor<7x64x16xbf16>) outs(%{{.+}} : tensor<?x?x97xf32>)
// CHECK:         linalg.generic {{.*}} outs(%{{.+}} : tensor<?x?x97xbf16>)
// CHECK:           arith.truncf
func.func private @packed_matmul(%x: !kvern.tensor<[b, m, 64], bf16, cpu:0>, %p: !kvern.tensor<[7, 64, 16], bf16, cpu:0>) -> !kvern.tensor<[b, m, 97], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.packed_matmul %x, %p {columns = 97 : i64} : (!kvern.tensor<[b, m, 64], bf16, cpu:0>, !kvern.tensor<[7, 64, 16], bf16, cpu:0>) -> !kvern.tensor<[b, m, 97], bf16, cpu:0>
  return %0 : !kvern.tensor<[b, m, 97], bf16, cpu:0>
}

// -----

// Full panels, the columns that are left, zeros beside them.

// CHECK-DAG:   #[[FULL:.+]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG:   #[[PART:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: @pack(
// CHECK:         tensor.expand_shape %{{.+}} {{\[}}[0, 1], [2]] {{.*}} : tensor<96x64xf32> into tensor<6x16x64xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[FULL]], #{{.+}}]
// CHECK:         tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 0] [6, 64, 16]
// CHECK:         linalg.generic {indexing_maps = [#[[PART]], #{{.+}}]
// CHECK:         tensor.insert_slice %{{.+}} into %{{.+}}[6, 0, 0] [1, 64, 4]
// CHECK:         linalg.fill
// CHECK:         tensor.insert_slice %{{.+}} into %{{.+}}[6, 0, 4] [1, 64, 12]
func.func private @pack(%w: !kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.pack %w {panel = 16 : i64, transposed} : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
  return %0 : !kvern.tensor<[7, 64, 16], f32, cpu:0>
}

// -----

// CHECK-DAG:   #[[FULL:.+]] = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK-LABEL: @pack_rows(
// CHECK:         tensor.expand_shape %{{.+}} {{\[}}[0], [1, 2]] {{.*}} : tensor<64x96xf32> into tensor<64x6x16xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[FULL]], #{{.+}}]
// CHECK-NOT:     linalg.fill
func.func private @pack_rows(%w: !kvern.tensor<[64, 96], f32, cpu:0>) -> !kvern.tensor<[6, 64, 16], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.pack %w {panel = 16 : i64} : (!kvern.tensor<[64, 96], f32, cpu:0>) -> !kvern.tensor<[6, 64, 16], f32, cpu:0>
  return %0 : !kvern.tensor<[6, 64, 16], f32, cpu:0>
}

// -----

// CHECK-LABEL: @gather(
// CHECK-DAG:     %[[P:.+]] = arith.constant 16 : index
// CHECK:         linalg.generic
// CHECK:           %[[PANEL:.+]] = arith.divui %[[C:.+]], %[[P]]
// CHECK:           %[[K:.+]] = linalg.index 1
// CHECK:           %[[PLACE:.+]] = arith.remui %[[C]], %[[P]]
// CHECK:           tensor.extract %{{.+}}[%[[PANEL]], %[[K]], %[[PLACE]]]
func.func private @gather(%p: !kvern.tensor<[7, 64, 16], f32, cpu:0>, %i: !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.packed_gather %p, %i {columns = 100 : i64} : (!kvern.tensor<[7, 64, 16], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 64], f32, cpu:0>
}
