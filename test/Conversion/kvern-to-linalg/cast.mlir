// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s

// Saturates; only what is in range is converted.

// CHECK-LABEL: @to_int(
// CHECK:         ^bb0(%[[X:.+]]: f32, %{{.+}}: i8):
// CHECK-DAG:       %[[LOW:.+]] = arith.constant -1.280000e+02 : f32
// CHECK-DAG:       %[[END:.+]] = arith.constant 1.280000e+02 : f32
// CHECK:           %[[HIGH:.+]] = arith.cmpf oge, %[[X]], %[[END]]
// CHECK:           %[[BELOW:.+]] = arith.cmpf ogt, %[[LOW]], %[[X]]
// CHECK:           %[[SAFE:.+]] = arith.select %{{.+}}, %[[X]], %{{.+}} : f32
// CHECK:           %[[I:.+]] = arith.fptosi %[[SAFE]] : f32 to i8
// CHECK:           %[[R:.+]] = arith.select %[[HIGH]], %c127_i8, %[[I]]
// CHECK:           arith.select %[[BELOW]], %c-128_i8, %[[R]]
func.func private @to_int(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], i8, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.cast %x {dtype = i8} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], i8, cpu:0>
  return %0 : !kvern.tensor<[n], i8, cpu:0>
}

// f64 is rounded once: to f32 with an odd last bit first.

// CHECK-LABEL: @to_half(
// CHECK:         ^bb0(%[[X:.+]]: f64, %{{.+}}: bf16):
// CHECK:           %[[Y:.+]] = arith.truncf %[[X]] : f64 to f32
// CHECK:           %[[BITS:.+]] = arith.bitcast %[[Y]] : f32 to i32
// CHECK:           %[[ODD:.+]] = arith.addi %[[BITS]], %{{.+}} : i32
// CHECK:           %[[Z:.+]] = arith.bitcast %[[ODD]] : i32 to f32
// CHECK:           arith.truncf %[[Z]] : f32 to bf16
func.func private @to_half(%x: !kvern.tensor<[n], f64, cpu:0>) -> !kvern.tensor<[n], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.cast %x {dtype = bf16} : (!kvern.tensor<[n], f64, cpu:0>) -> !kvern.tensor<[n], bf16, cpu:0>
  return %0 : !kvern.tensor<[n], bf16, cpu:0>
}

// CHECK-LABEL: @to_bool(
// CHECK:         %[[R:.+]] = arith.cmpf une, %{{.+}}, %{{.+}} : f32
// CHECK-NEXT:    arith.extui %[[R]] : i1 to i8
func.func private @to_bool(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.cast %x {dtype = i1} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
  return %0 : !kvern.tensor<[n], i1, cpu:0>
}

// CHECK-LABEL: @from_unsigned(
// CHECK:         arith.extui %{{.+}} : i8 to i32
func.func private @from_unsigned(%x: !kvern.tensor<[n], ui8, cpu:0>) -> !kvern.tensor<[n], i32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.cast %x {dtype = i32} : (!kvern.tensor<[n], ui8, cpu:0>) -> !kvern.tensor<[n], i32, cpu:0>
  return %0 : !kvern.tensor<[n], i32, cpu:0>
}
