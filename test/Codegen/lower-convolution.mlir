// RUN: kvern-opt %s -kvern-lower-convolution -canonicalize -cse -split-input-file | FileCheck %s

// With 16 registers of 8 lanes, 6 pixels by 2 vectors of filters: rows of 7 pixels are tiles
// of 4 and of 3. Offsets along the kernel's row and channels are one loop of 15 steps.
#x = affine_map<(n, y, x, f, r, s, c) -> (n, y * 2 + r, x + s, c)>
#filter = affine_map<(n, y, x, f, r, s, c) -> (r, s, c, f)>
#out = affine_map<(n, y, x, f, r, s, c) -> (n, y, x, f)>

// CHECK-LABEL: func.func @convolution(
// CHECK-SAME: %[[X:.*]]: memref<1x9x9x5xf32>, %[[F:.*]]: memref<3x3x5x20xf32>, %[[OUT:.*]]: memref<1x4x7x20xf32>)
func.func @convolution(%x: memref<1x9x9x5xf32>, %filter: memref<3x3x5x20xf32>, %out: memref<1x4x7x20xf32>) attributes {kvern.kernel} {
  %zero = arith.constant 0.0 : f32
  // The sums start at zero in registers.
  // CHECK-NOT: linalg.fill
  linalg.fill ins(%zero : f32) outs(%out : memref<1x4x7x20xf32>)
  // CHECK-DAG: %[[FLAT:.*]] = memref.collapse_shape %[[X]] {{\[}}[0], [1], [2, 3]]
  // CHECK-DAG: %[[ROWS:.*]] = memref.collapse_shape %[[F]] {{\[}}[0], [1, 2], [3]]
  // 16 filters, in rows of pixels.
  // CHECK: scf.for %[[Y:.*]] = %c0 to %c4 step %c1
  // CHECK: scf.for %[[R:.*]] = %c0 to %c3
  // CHECK: scf.for %[[K:.*]] = %c0 to %c12 step %c4
  // CHECK: vector.load %[[ROWS]][%[[R]], %[[K]], %c0]
  // CHECK: vector.load %[[ROWS]][%[[R]], %[[K]], %c8]
  // CHECK: %[[ROW:.*]] = affine.apply #{{.*}}(%[[Y]], %[[R]])
  // CHECK: memref.load %[[FLAT]][%c0, %[[ROW]], %[[K]]]
  // CHECK: math.fma
  // CHECK: scf.for %{{.*}} = %c12 to %c15 step %c1
  // The 4 that are left are masked.
  // CHECK: vector.constant_mask [4]
  // CHECK: vector.maskedstore %[[OUT]]
  linalg.generic {indexing_maps = [#x, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %filter : memref<1x9x9x5xf32>, memref<3x3x5x20xf32>) outs(%out : memref<1x4x7x20xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  // CHECK-NOT: linalg.generic
  // CHECK: return
  return
}

// -----

// A filter in panels of 16 is read whole, whatever the number of filters; the output is added to.
#x = affine_map<(n, y, x, f, r, s, c) -> (n, y + r, x + s * 2, c)>
#panels = affine_map<(n, y, x, f, r, s, c) -> (f floordiv 16, r, s, c, f mod 16)>
#out = affine_map<(n, y, x, f, r, s, c) -> (n, y, x, f)>

// CHECK-LABEL: func.func @panels(
// CHECK-SAME: %[[X:.*]]: memref<2x?x?x8xbf16>, %[[P:.*]]: memref<2x1x3x8x16xbf16>
func.func @panels(%x: memref<2x?x?x8xbf16>, %panels: memref<2x1x3x8x16xbf16>, %out: memref<2x?x?x20xf32>) attributes {kvern.kernel} {
  // CHECK: vector.load %[[P]][%c0, {{.*}}] : memref<2x1x3x8x16xbf16>, vector<8xbf16>
  // CHECK: arith.extf
  // CHECK: memref.load %[[X]]
  // CHECK: vector.load %{{.*}} : memref<2x?x?x20xf32>
  // CHECK: arith.addf
  // CHECK: vector.load %[[P]][%c1, {{.*}}] : memref<2x1x3x8x16xbf16>, vector<8xbf16>
  // CHECK-NOT: vector.maskedload %[[P]]
  linalg.generic {indexing_maps = [#x, #panels, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %panels : memref<2x?x?x8xbf16>, memref<2x1x3x8x16xbf16>) outs(%out : memref<2x?x?x20xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

// Each filter sees its own channel: vectors of both.
#x = affine_map<(n, y, x, f, r, s) -> (n, y + r, x + s, f)>
#filter = affine_map<(n, y, x, f, r, s) -> (r, s, 0, f)>
#out = affine_map<(n, y, x, f, r, s) -> (n, y, x, f)>

// CHECK-LABEL: func.func @depthwise(
// CHECK-SAME: %[[X:.*]]: memref<1x6x8x16xf32>, %[[F:.*]]: memref<3x3x1x16xf32>
func.func @depthwise(%x: memref<1x6x8x16xf32>, %filter: memref<3x3x1x16xf32>, %out: memref<1x4x6x16xf32>) attributes {kvern.kernel} {
  // CHECK: vector.load %[[F]]
  // CHECK: vector.load %[[X]]
  // CHECK-NOT: memref.load
  linalg.generic {indexing_maps = [#x, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %filter : memref<1x6x8x16xf32>, memref<3x3x1x16xf32>) outs(%out : memref<1x4x6x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// Panels of filters end with their group.
#x = affine_map<(n, y, x, f, r, s, c) -> (n, y + r, x + s, (f floordiv 3) * 4 + c)>
#filter = affine_map<(n, y, x, f, r, s, c) -> (r, s, c, f)>
#out = affine_map<(n, y, x, f, r, s, c) -> (n, y, x, f)>

// CHECK-LABEL: func.func @groups(
func.func @groups(%x: memref<1x6x8x8xf32>, %filter: memref<3x3x4x6xf32>, %out: memref<1x4x6x6xf32>) attributes {kvern.kernel} {
  // CHECK: scf.for %[[G:.*]] = %c0 to %c6 step %c3
  // CHECK: vector.constant_mask [3]
  linalg.generic {indexing_maps = [#x, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %filter : memref<1x6x8x8xf32>, memref<3x3x4x6xf32>) outs(%out : memref<1x4x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
