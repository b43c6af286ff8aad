// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Integers lose their sign and booleans are bytes.

// CHECK-LABEL: @dense(
// CHECK-DAG:     arith.constant dense<[1, -1]> : tensor<2xi8>
// CHECK-DAG:     arith.constant dense<[1, 0]> : tensor<2xi8>
func.func private @dense() -> (!kvern.tensor<[2], ui8, cpu:0>, !kvern.tensor<[2], i1, cpu:0>) attributes {kvern.kernel} {
  %0 = kvern.constant {value = dense<[1, 255]> : tensor<2xui8>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], ui8, cpu:0>
  %1 = kvern.constant {value = dense<[true, false]> : tensor<2xi1>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], i1, cpu:0>
  return %0, %1 : !kvern.tensor<[2], ui8, cpu:0>, !kvern.tensor<[2], i1, cpu:0>
}

// -----

// CHECK-LABEL: @resource(
// CHECK:         arith.constant dense_resource<values> : tensor<2xi32>
func.func private @resource() -> !kvern.tensor<[2], ui32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.constant {value = dense_resource<values> : tensor<2xui32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], ui32, cpu:0>
  return %0 : !kvern.tensor<[2], ui32, cpu:0>
}
{-#
  dialect_resources: {builtin: {values: "0x400000000100000002000000"}}
#-}

// -----

// CHECK-LABEL: @range(
// CHECK:         linalg.generic {{.*}} outs(%{{.+}} : tensor<?xf16>)
// CHECK:           %[[INDEX:.+]] = linalg.index 0
// CHECK:           %[[I:.+]] = arith.index_cast %[[INDEX]] : index to i64
// CHECK:           %[[F:.+]] = arith.sitofp %[[I]] : i64 to f32
// CHECK:           %[[P:.+]] = arith.mulf %[[F]], %{{.+}} : f32
// CHECK:           %[[S:.+]] = arith.addf %{{.+}}, %[[P]] : f32
// CHECK:           arith.truncf %[[S]] : f32 to f16
func.func private @range() -> !kvern.tensor<[n], f16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.range {start = 1.0 : f16, step = 0.5 : f16, size = #kvern.dim<n>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[n], f16, cpu:0>
  return %0 : !kvern.tensor<[n], f16, cpu:0>
}

// -----

// Sizes are computed from the values of the names; a divisor that is 0 counts
// as 1.

// CHECK-LABEL: @sizes(
// CHECK-SAME:    %[[M:[^ ]+]]: index {kvern.symbol = "m"}, %[[N:[^ ]+]]: index {kvern.symbol = "n"})
// CHECK-DAG:     %[[P:.+]] = arith.muli %[[M]], %[[N]]
// CHECK-DAG:     %[[HALF:.+]] = arith.floordivsi %[[N]], %c2
// CHECK-DAG:     %[[ZERO:.+]] = arith.cmpi eq, %[[M]], %c0
// CHECK-DAG:     %[[SAFE:.+]] = arith.select %[[ZERO]], %c1{{.*}}, %[[M]]
// CHECK-DAG:     %[[Q:.+]] = arith.floordivsi %[[N]], %[[SAFE]]
// CHECK-DAG:     %[[WHOLE:.+]] = arith.muli %[[Q]], %[[SAFE]]
// CHECK-DAG:     arith.subi %[[N]], %[[WHOLE]]
// CHECK:         tensor.from_elements {{.*}} : tensor<3xi64>
func.func private @sizes() -> !kvern.tensor<[3], i64, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.shape_to_tensor {shape = #kvern.shape<[n * m, n floordiv 2, n mod m]>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[3], i64, cpu:0>
  return %0 : !kvern.tensor<[3], i64, cpu:0>
}
