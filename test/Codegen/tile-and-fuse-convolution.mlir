// RUN: kvern-opt %s -kvern-tile-and-fuse -canonicalize | FileCheck %s

#x = affine_map<(n, y, x, f, r, s, c) -> (n, y + r, x + s, c)>
#panels = affine_map<(n, y, x, f, r, s, c) -> (f floordiv 16, r, s, c, f mod 16)>
#out = affine_map<(n, y, x, f, r, s, c) -> (n, y, x, f)>
#all = affine_map<(n, y, x, f) -> (n, y, x, f)>

// Five rows of 28 pixels are worth a task; the activation is part of it. Panels are read whole,
// though the last one has filters 32 to 39 only.
// CHECK-LABEL: func.func @convolution(
// CHECK: scf.forall (%[[N:.*]], %[[Y:.*]]) = (0, 0) to (2, 28) step (1, 5)
// CHECK: tensor.extract_slice %{{.*}}[%[[N]], %[[Y]], 0, 0] [1, %{{.*}}, 30, 8] [1, 1, 1, 1]
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: tensor<3x3x3x8x16xf32>
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: tensor.parallel_insert_slice
func.func @convolution(%x: memref<2x30x30x8xf32>, %panels: memref<3x3x3x8x16xf32>, %out: memref<2x28x28x40xf32>) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = bufferization.to_tensor %x restrict : memref<2x30x30x8xf32> to tensor<2x30x30x8xf32>
  %1 = bufferization.to_tensor %panels restrict : memref<3x3x3x8x16xf32> to tensor<3x3x3x8x16xf32>
  %2 = tensor.empty() : tensor<2x28x28x40xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<2x28x28x40xf32>) -> tensor<2x28x28x40xf32>
  %4 = linalg.generic {indexing_maps = [#x, #panels, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%0, %1 : tensor<2x30x30x8xf32>, tensor<3x3x3x8x16xf32>) outs(%3 : tensor<2x28x28x40xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %7 = arith.mulf %a, %b : f32
    %8 = arith.addf %acc, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<2x28x28x40xf32>
  %5 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x28x28x40xf32>) outs(%2 : tensor<2x28x28x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %7 = arith.maximumf %a, %zero : f32
    linalg.yield %7 : f32
  } -> tensor<2x28x28x40xf32>
  bufferization.materialize_in_destination %5 in restrict writable %out : (tensor<2x28x28x40xf32>, memref<2x28x28x40xf32>) -> ()
  return
}
