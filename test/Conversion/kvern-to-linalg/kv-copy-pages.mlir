// RUN: kvern-opt %s --kvern-convert-to-linalg | FileCheck %s
// Each page is a copy of a view.

!blocks = !kvern.buffer<[p, 2, 3, 16, 2, 8], f32, cpu:0>
!pages = !kvern.tensor<[n], ui32, cpu:0>

// CHECK-LABEL: @copy
func.func private @copy(%from: !blocks, %to: !blocks, %sources: !pages, %targets: !pages) attributes {kvern.kernel} {
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to
  // CHECK: tensor.extract %{{.*}}[%[[I]]]
  // CHECK: %[[FROM:.*]] = memref.subview
  // CHECK: tensor.extract %{{.*}}[%[[I]]]
  // CHECK: %[[TO:.*]] = memref.subview
  // CHECK: memref.copy %[[FROM]], %[[TO]]
  kvern.kv_copy_pages %from, %to, %sources, %targets : !blocks, !blocks, !pages, !pages
  return
}
