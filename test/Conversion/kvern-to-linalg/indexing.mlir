// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// A negative index counts from the end.

// CHECK-DAG:   #[[INDEX:.+]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-LABEL: @gather(
// CHECK:         linalg.generic {indexing_maps = [#[[INDEX]], #{{.+}}]
// CHECK:         ^bb0(%[[IN:.+]]: i64, %{{.+}}: f32):
// CHECK:           %[[I:.+]] = arith.index_cast %[[IN]] : i64 to index
// CHECK:           %[[NEGATIVE:.+]] = arith.cmpi slt, %[[I]], %{{.+}}
// CHECK:           %[[END:.+]] = arith.addi %[[I]], %{{.+}}
// CHECK:           %[[AT:.+]] = arith.select %[[NEGATIVE]], %[[END]], %[[I]]
// CHECK:           %[[A:.+]] = linalg.index 0
// CHECK:           %[[B:.+]] = linalg.index 2
// CHECK:           tensor.extract %{{.+}}[%[[A]], %[[AT]], %[[B]]]
func.func private @gather(%x: !kvern.tensor<[a, n, 4], f32, cpu:0>, %i: !kvern.tensor<[k], i64, cpu:0>) -> !kvern.tensor<[a, k, 4], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.gather %x, %i {axis = 1 : i64} : (!kvern.tensor<[a, n, 4], f32, cpu:0>, !kvern.tensor<[k], i64, cpu:0>) -> !kvern.tensor<[a, k, 4], f32, cpu:0>
  return %0 : !kvern.tensor<[a, k, 4], f32, cpu:0>
}

// -----

// CHECK-LABEL: @gather_unsigned(
// CHECK:         arith.index_castui
// CHECK-NOT:     arith.select
func.func private @gather_unsigned(%x: !kvern.tensor<[n], f32, cpu:0>, %i: !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[], f32, cpu:0>
  return %0 : !kvern.tensor<[], f32, cpu:0>
}
