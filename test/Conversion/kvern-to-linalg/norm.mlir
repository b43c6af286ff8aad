// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file | FileCheck %s

// Rounds before the product with the weight.

// CHECK-DAG:   #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[COLUMN:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @rms_norm(
// CHECK:         %[[S:.+]] = linalg.generic {{.*}}["parallel", "reduction"]{{.*}} outs(%{{.+}} : tensor<?xf32>)
// CHECK:           %[[X:.+]] = arith.extf
// CHECK:           arith.mulf %[[X]], %[[X]] : f32
// CHECK:           arith.addf %{{.+}} fastmath<reassoc,contract>
// CHECK:         %[[R:.+]] = linalg.generic {{.*}}["parallel"]{{.*}} ins(%[[S]] : tensor<?xf32>)
// CHECK:           arith.divf
// CHECK:           arith.addf
// CHECK:           math.sqrt
// CHECK:           arith.divf
// CHECK:         linalg.generic {indexing_maps = [#{{.+}}, #[[ROW]], #[[COLUMN]], #{{.+}}]{{.*}} ins(%{{.+}}, %[[R]], %{{.+}} :
// CHECK:           %[[N:.+]] = arith.mulf
// CHECK:           %[[T:.+]] = arith.truncf %[[N]] : f32 to bf16
// CHECK:           %[[U:.+]] = arith.extf %[[T]]
// CHECK:           %[[P:.+]] = arith.mulf %[[U]], %{{.+}}
// CHECK:           arith.truncf %[[P]] : f32 to bf16
func.func private @rms_norm(%x: !kvern.tensor<[n, 64], bf16, cpu:0>, %w: !kvern.tensor<[64], bf16, cpu:0>) -> !kvern.tensor<[n, 64], bf16, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], bf16, cpu:0>, !kvern.tensor<[64], bf16, cpu:0>) -> !kvern.tensor<[n, 64], bf16, cpu:0>
  return %0 : !kvern.tensor<[n, 64], bf16, cpu:0>
}

// -----

// The variance is the mean of squares of what is left after the mean.

// CHECK-LABEL: @layer_norm(
// CHECK:         %[[X:.+]] = bufferization.to_tensor
// CHECK:         %[[SUM:.+]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[X]] : tensor<?x64xf32>)
// CHECK:         %[[MEAN:.+]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<?xf32>)
// CHECK:         %[[SQUARES:.+]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[X]], %[[MEAN]] :
// CHECK:           %[[C:.+]] = arith.subf
// CHECK:           arith.mulf %[[C]], %[[C]] : f32
// CHECK:         %[[SCALE:.+]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<?xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[MEAN]], %[[SCALE]], %{{.+}}, %{{.+}} :
func.func private @layer_norm(%x: !kvern.tensor<[n, 64], f32, cpu:0>, %g: !kvern.tensor<[64], f32, cpu:0>, %b: !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0> attributes {kvern.kernel} {
  %0 = kvern.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 64], f32, cpu:0>
}
