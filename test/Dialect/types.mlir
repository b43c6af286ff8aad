// RUN: kvern-opt %s | kvern-opt | FileCheck %s

// Sizes are canonical: two spellings of one size are one type.

// CHECK-LABEL: func.func private @static(!kvern.tensor<[2, 3], f32, cpu:0>)
func.func private @static(!kvern.tensor<[2, 3], f32, cpu:0>)
// CHECK-LABEL: @scalar(!kvern.tensor<[], i1, cpu:0>)
func.func private @scalar(!kvern.tensor<[], i1, cpu:0>)
// CHECK-LABEL: @buffer(!kvern.buffer<[pages, 16], bf16, gpu:1>)
func.func private @buffer(!kvern.buffer<[pages, 16], bf16, gpu:1>)
// CHECK-LABEL: @sum(!kvern.tensor<[batch * 5 + 1], f32, cpu:0>)
func.func private @sum(!kvern.tensor<[1 + 5 * batch], f32, cpu:0>)
// CHECK-LABEL: @negative(!kvern.tensor<[x * -1 + 5], f32, cpu:0>
// CHECK-SAME: !kvern.tensor<[n - 4], f32, cpu:0>)
func.func private @negative(!kvern.tensor<[x * -1 + 9 - 4], f32, cpu:0>, !kvern.tensor<[-(4 - n)], f32, cpu:0>)
// CHECK-LABEL: @product(!kvern.tensor<[batch * seq], f32, cpu:0>, !kvern.tensor<[batch * seq], f32, cpu:0>)
func.func private @product(!kvern.tensor<[batch * seq], f32, cpu:0>, !kvern.tensor<[seq * batch], f32, cpu:0>)
// CHECK-LABEL: @expanded(!kvern.tensor<[batch * seq + batch], f32, cpu:0>)
func.func private @expanded(!kvern.tensor<[batch * (seq + 1)], f32, cpu:0>)
// CHECK-LABEL: @exact(!kvern.tensor<[seq * 8], f32, cpu:0>)
func.func private @exact(!kvern.tensor<[(batch * seq * 8) floordiv batch], f32, cpu:0>)
// CHECK-LABEL: @names(!kvern.tensor<["a.b", "1st", _x, i32, "\22\\\0A", "\C3\A4"], f32, cpu:0>)
func.func private @names(!kvern.tensor<[a.b, "1st", _x, i32, "\22\\\0A", "\C3\A4"], f32, cpu:0>)
// CHECK-LABEL: @quoted(!kvern.tensor<["batch size", "mod"], f32, cpu:0>)
func.func private @quoted(!kvern.tensor<["batch size", "mod"], f32, cpu:0>)

// CHECK-LABEL: @dtypes(
// CHECK-SAME: i8, cpu:0>, !kvern.tensor<[], ui64, cpu:0>, !kvern.tensor<[], f8E4M3FN, cpu:0>, !kvern.tensor<[], f4E2M1FN, cpu:0>
func.func private @dtypes(!kvern.tensor<[], i8, cpu:0>, !kvern.tensor<[], ui64, cpu:0>, !kvern.tensor<[], f8E4M3FN, cpu:0>, !kvern.tensor<[], f4E2M1FN, cpu:0>)

// CHECK: attributes {device = #kvern.device<gpu:2>, dim = #kvern.dim<a * 2>, shape = #kvern.shape<[a, 2]>}
func.func private @attributes() attributes {dim = #kvern.dim<a + a>, shape = #kvern.shape<[a, 2]>, device = #kvern.device<gpu:2>}
