// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// The loop's result lacks the axis, which is put back. Half precision
// accumulates in f32; only the sum may be reordered.

// CHECK-DAG:   #[[OUT:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @mean(
// CHECK:         %[[SUM:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[OUT]]], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME:      outs(%{{.+}} : tensor<?xf32>)
// CHECK:           %[[X:.+]] = arith.extf %{{.+}} : bf16 to f32
// CHECK:           arith.addf %[[X]], %{{.+}} fastmath<reassoc,contract>
// CHECK:         %[[COUNT:.+]] = arith.sitofp %{{.+}} : i64 to f32
// CHECK:         %[[MEAN:.+]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<?xf32>)
// CHECK:           %[[Q:.+]] = arith.divf %{{.+}}, %[[COUNT]] : f32
// CHECK:           arith.truncf %[[Q]] : f32 to bf16
// CHECK:         tensor.expand_shape %[[MEAN]] {{\[}}[0, 1]] output_shape [%{{.+}}, 1] : tensor<?xbf16> into tensor<?x1xbf16>
func.func private @mean(%x: !kvern.tensor<[n, m], bf16, cpu:0>) -> !kvern.tensor<[n, 1], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.mean %x {axis = 1 : i64} : (!kvern.tensor<[n, m], bf16, cpu:0>) -> !kvern.tensor<[n, 1], bf16, cpu:0>
  return %0 : !kvern.tensor<[n, 1], bf16, cpu:0>
}

// -----

// NaN wins: arith.maximumf. What follows reads the reduced result directly.

// CHECK-DAG:   #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @minus_max(
// CHECK:         %[[INIT:.+]] = arith.constant 0xFF800000 : f32
// CHECK:         linalg.fill ins(%[[INIT]] : f32)
// CHECK:         %[[MAX:.+]] = linalg.generic
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {indexing_maps = [#{{.+}}, #[[ROW]], #{{.+}}]
// CHECK-SAME:      ins(%{{.+}}, %[[MAX]] : tensor<?x8xf32>, tensor<?xf32>)
func.func private @minus_max(%x: !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.reduce_max %x {axis = 1 : i64} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 1], f32, cpu:0>
  %1 = kvern.sub %x, %0 : (!kvern.tensor<[n, 8], f32, cpu:0>, !kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return %1 : !kvern.tensor<[n, 8], f32, cpu:0>
}

// -----

// Strictly beyond, so that the first wins; NaN beats every number.

// CHECK-LABEL: @argmin(
// CHECK:         %{{.+}}:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:         ^bb0(%[[X:.+]]: f32, %[[BEST:.+]]: f32, %[[AT:.+]]: i64):
// CHECK:           %[[BELOW:.+]] = arith.cmpf ult, %[[X]], %[[BEST]]
// CHECK:           %[[NUMBER:.+]] = arith.cmpf ord, %[[BEST]], %[[BEST]]
// CHECK:           %[[BETTER:.+]] = arith.andi %[[BELOW]], %[[NUMBER]]
// CHECK:           linalg.index 1
// CHECK:           arith.select %[[BETTER]], %[[X]], %[[BEST]]
// CHECK:           arith.select %[[BETTER]], %{{.+}}, %[[AT]]
func.func private @argmin(%x: !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 1], i64, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.argmin %x {axis = 1 : i64} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 1], i64, cpu:0>
  return %0 : !kvern.tensor<[n, 1], i64, cpu:0>
}

// -----

// CHECK-DAG:   #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @softmax(
// CHECK:         %[[X:.+]] = bufferization.to_tensor
// CHECK:         %[[M:.+]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[X]]
// CHECK:           arith.cmpf ogt
// CHECK:           arith.select
// CHECK:         %[[E:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[ROW]], #{{.+}}]{{.*}} ins(%[[X]], %[[M]]
// CHECK:           arith.subf
// CHECK:           math.exp
// CHECK:         %[[S:.+]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[E]]
// CHECK:           arith.addf %{{.+}} fastmath<reassoc,contract>
// CHECK:         %[[R:.+]] = linalg.generic {{.*}} ins(%[[S]]
// CHECK:           arith.divf
// CHECK:         linalg.generic {indexing_maps = [#{{.+}}, #[[ROW]], #{{.+}}]{{.*}} ins(%[[E]], %[[R]]
// CHECK:           arith.mulf
func.func private @softmax(%x: !kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.softmax %x {axis = 1 : i64} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 8], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 8], f32, cpu:0>
}

// -----

// An empty axis leaves the value that the sum starts from.

// CHECK-LABEL: @empty(
// CHECK:         linalg.fill ins(%{{.+}} : i32) outs(%{{.+}} : tensor<?xi32>)
// CHECK-NOT:     linalg.generic
func.func private @empty(%x: !kvern.tensor<[n, 0], i32, cpu:0>) -> !kvern.tensor<[n, 1], i32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.sum %x {axis = 1 : i64} : (!kvern.tensor<[n, 0], i32, cpu:0>) -> !kvern.tensor<[n, 1], i32, cpu:0>
  return %0 : !kvern.tensor<[n, 1], i32, cpu:0>
}
