// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Register tiles for machines of different vectors.
// RUN: kvern-opt %s -kvern-lower-contraction="vector-bits=512 vector-registers=32" -canonicalize | FileCheck %s --check-prefix=AVX512
// RUN: kvern-opt %s -kvern-lower-contraction="vector-bits=256 vector-registers=16" -canonicalize | FileCheck %s --check-prefix=AVX2
// RUN: kvern-opt %s -kvern-lower-contraction="vector-bits=128 vector-registers=32" -canonicalize | FileCheck %s --check-prefix=NEON

#lhs = affine_map<(m, n, k) -> (m, k)>
#panels = affine_map<(m, n, k) -> (n floordiv 32, k, n mod 32)>
#narrow = affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>
#out = affine_map<(m, n, k) -> (m, n)>

// 14 x 32 with AVX-512: 28 sums. Panels of 32 have four vectors of AVX2, eight
// of NEON, of which two rows fit.
// AVX512-LABEL: func @wide
//       AVX512: %{{.*}}:28 = scf.for
//       AVX512: vector<16xf32>
//         AVX2-LABEL: func @wide
//               AVX2: %{{.*}}:8 = scf.for
//               AVX2: vector<8xf32>
//         NEON-LABEL: func @wide
//               NEON: %{{.*}}:16 = scf.for
//               NEON: vector<4xf32>
func.func @wide(%a: memref<14x64xf32>, %w: memref<2x64x32xf32>, %out: memref<14x64xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #panels, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<14x64xf32>, memref<2x64x32xf32>) outs(%out : memref<14x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// 6 x 16 with AVX2 (12 sums) and NEON (24).
// AVX512-LABEL: func @narrow
//         AVX2-LABEL: func @narrow
//               AVX2: %{{.*}}:12 = scf.for
//               AVX2: vector<8xf32>
//         NEON-LABEL: func @narrow
//               NEON: %{{.*}}:24 = scf.for
//               NEON: vector<4xf32>
func.func @narrow(%a: memref<12x64xf32>, %w: memref<4x64x16xf32>, %out: memref<12x64xf32>) attributes {kvern.kernel} {
  linalg.generic {indexing_maps = [#lhs, #narrow, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<12x64xf32>, memref<4x64x16xf32>) outs(%out : memref<12x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}
