// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Axes of size 1 are read at 0, axes that are missing by no loop.

// CHECK-DAG:   #[[X:.+]] = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
// CHECK-DAG:   #[[Y:.+]] = affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK-DAG:   #[[ALL:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: @broadcast(
// CHECK:         tensor.empty(%{{.+}}, %{{.+}}) : tensor<?x3x?xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #[[Y]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK:         arith.addf
func.func private @broadcast(%x: !kvern.tensor<[a, 1, b], f32, cpu:0>, %y: !kvern.tensor<[3, 1], f32, cpu:0>) -> !kvern.tensor<[a, 3, b], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.add %x, %y : (!kvern.tensor<[a, 1, b], f32, cpu:0>, !kvern.tensor<[3, 1], f32, cpu:0>) -> !kvern.tensor<[a, 3, b], f32, cpu:0>
  return %0 : !kvern.tensor<[a, 3, b], f32, cpu:0>
}

// -----

// A constant of one value is part of the body; a small power is a product.

// CHECK-LABEL: @square(
// CHECK:         linalg.generic {{.*}} ins(%{{.+}} : tensor<?xf32>)
// CHECK:         ^bb0(%[[X:.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT:      %[[R:.+]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:      linalg.yield %[[R]]
func.func private @square(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.constant {value = dense<2.0> : tensor<f32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[], f32, cpu:0>
  %1 = kvern.pow %x, %0 : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %1 : !kvern.tensor<[n], f32, cpu:0>
}

// -----

// Half precision is computed in f32.

// CHECK-LABEL: @silu(
// CHECK:         ^bb0(%[[IN:.+]]: bf16, %{{.+}}: bf16):
// CHECK:           %[[X:.+]] = arith.extf %[[IN]] : bf16 to f32
// CHECK:           %[[N:.+]] = arith.negf %[[X]]
// CHECK:           %[[E:.+]] = math.exp %[[N]]
// CHECK:           %[[S:.+]] = arith.addf %{{.+}}, %[[E]]
// CHECK:           %[[R:.+]] = arith.divf %[[X]], %[[S]]
// CHECK:           arith.truncf %[[R]] : f32 to bf16
func.func private @silu(%x: !kvern.tensor<[n], bf16, cpu:0>) -> !kvern.tensor<[n], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.silu %x : (!kvern.tensor<[n], bf16, cpu:0>) -> !kvern.tensor<[n], bf16, cpu:0>
  return %0 : !kvern.tensor<[n], bf16, cpu:0>
}

// -----

// No division by zero and no overflow: the divisor is replaced by 1.

// CHECK-LABEL: @div(
// CHECK-DAG:     %[[ZERO:.+]] = arith.cmpi eq, %[[Y:.+]], %{{.+}} : i32
// CHECK-DAG:     %[[MINUS:.+]] = arith.cmpi eq, %[[Y]], %c-1_i32
// CHECK:         %[[SPECIAL:.+]] = arith.ori %[[ZERO]], %[[MINUS]]
// CHECK:         %[[SAFE:.+]] = arith.select %[[SPECIAL]], %c1_i32, %[[Y]]
// CHECK:         %[[Q:.+]] = arith.divsi %[[X:.+]], %[[SAFE]]
// CHECK:         %[[N:.+]] = arith.subi %{{.+}}, %[[X]]
// CHECK:         %[[W:.+]] = arith.select %[[MINUS]], %[[N]], %[[Q]]
// CHECK:         arith.select %[[ZERO]], %{{.+}}, %[[W]]
func.func private @div(%x: !kvern.tensor<[n], i32, cpu:0>, %y: !kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n], i32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.div %x, %y : (!kvern.tensor<[n], i32, cpu:0>, !kvern.tensor<[n], i32, cpu:0>) -> !kvern.tensor<[n], i32, cpu:0>
  return %0 : !kvern.tensor<[n], i32, cpu:0>
}

// -----

// The kvern type decides the sign; booleans are bytes.

// CHECK-LABEL: @unsigned(
// CHECK:         ins(%{{.+}}, %{{.+}} : tensor<?xi8>, tensor<?xi8>) outs(%{{.+}} : tensor<?xi8>)
// CHECK:         %[[R:.+]] = arith.cmpi ugt, %{{.+}} : i8
// CHECK-NEXT:    arith.extui %[[R]] : i1 to i8
func.func private @unsigned(%x: !kvern.tensor<[n], ui8, cpu:0>, %y: !kvern.tensor<[n], ui8, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.greater %x, %y : (!kvern.tensor<[n], ui8, cpu:0>, !kvern.tensor<[n], ui8, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
  return %0 : !kvern.tensor<[n], i1, cpu:0>
}

// -----

// CHECK-LABEL: @where(
// CHECK:         ^bb0(%[[BYTE:.+]]: i8, %[[X:.+]]: f16, %[[Y:.+]]: f16, %{{.+}}: f16):
// CHECK:           %[[C:.+]] = arith.cmpi ne, %[[BYTE]], %{{.+}} : i8
// CHECK-NEXT:      arith.select %[[C]], %[[X]], %[[Y]] : f16
func.func private @where(%c: !kvern.tensor<[n], i1, cpu:0>, %x: !kvern.tensor<[n], f16, cpu:0>, %y: !kvern.tensor<[], f16, cpu:0>) -> !kvern.tensor<[n], f16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.where %c, %x, %y : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[n], f16, cpu:0>, !kvern.tensor<[], f16, cpu:0>) -> !kvern.tensor<[n], f16, cpu:0>
  return %0 : !kvern.tensor<[n], f16, cpu:0>
}

// -----

// CHECK-DAG:   #[[X:.+]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
// CHECK-LABEL: @permute(
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #{{.+}}]
// CHECK:         outs(%{{.+}} : tensor<4x?x3xf32>)
func.func private @permute(%x: !kvern.tensor<[a, 3, 4], f32, cpu:0>) -> !kvern.tensor<[4, a, 3], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.permute %x {permutation = array<i64: 2, 0, 1>} : (!kvern.tensor<[a, 3, 4], f32, cpu:0>) -> !kvern.tensor<[4, a, 3], f32, cpu:0>
  return %0 : !kvern.tensor<[4, a, 3], f32, cpu:0>
}

// -----

// CHECK-DAG:   #[[X:.+]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: @broadcast_to(
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #{{.+}}]
func.func private @broadcast_to(%x: !kvern.tensor<[1, m], f32, cpu:0>) -> !kvern.tensor<[n, m], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.broadcast_to %x {shape = #kvern.shape<[n, m]>} : (!kvern.tensor<[1, m], f32, cpu:0>) -> !kvern.tensor<[n, m], f32, cpu:0>
  return %0 : !kvern.tensor<[n, m], f32, cpu:0>
}

// -----

// No loop over a size known to be 0.

// CHECK-LABEL: @empty(
// CHECK:         %[[R:.+]] = tensor.empty(%{{.+}}) : tensor<?x0xf32>
// CHECK-NOT:     linalg
// CHECK:         bufferization.materialize_in_destination %[[R]]
func.func private @empty(%x: !kvern.tensor<[n, 0], f32, cpu:0>) -> !kvern.tensor<[n, 0], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.exp %x : (!kvern.tensor<[n, 0], f32, cpu:0>) -> !kvern.tensor<[n, 0], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 0], f32, cpu:0>
}
