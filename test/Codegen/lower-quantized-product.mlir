// RUN: kvern-opt %s -split-input-file -kvern-lower-quantized-product="vector-bits=512 dot=vnni" | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: kvern-opt %s -split-input-file -kvern-lower-quantized-product="vector-bits=256 dot=maddubs" | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: kvern-opt %s -split-input-file -kvern-lower-quantized-product="vector-bits=128 dot=neon" | FileCheck %s --check-prefixes=CHECK,NEON
// RUN: kvern-opt %s -split-input-file -kvern-lower-quantized-product="vector-bits=128" | FileCheck %s --check-prefixes=CHECK,PLAIN

// One row of integers: each row of activations is rounded, then multiplied with
// panels side by side.
// CHECK-LABEL: func.func @integers
// CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<1x1xf32>
// CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<1x1x2xi32>
// CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<1x1x128xi8>
// CHECK: scf.forall
// CHECK: math.absf
// CHECK: vector.reduction <maximumf>
// CHECK: scf.forall {{.*}} = (0) to (7) step (4)
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.psign.b"
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// NEON: llvm.call_intrinsic "llvm.aarch64.neon.sdot"
// PLAIN-NOT: llvm.call_intrinsic
// CHECK-NOT: kvern.loop
func.func @integers(%x: memref<1x64xf32>, %p: memref<7x2x544xi8>, %out: memref<1x100xf32>) attributes {kvern.kernel} {
  kvern.loop.quantized_product %x, %p, %out {activations = "int8", encoding = "q8_0"} : (memref<1x64xf32>, memref<7x2x544xi8>, memref<1x100xf32>) -> ()
  return
}

// -----

// Any number of rows, exact: with instructions for it, integers of three digits;
// few rows at least, and else with weights in registers; many with a panel of
// numbers in memory.
// CHECK-LABEL: func.func @numbers
// VNNI-DAG: memref.alloc() {alignment = 64 : i64} : memref<3x64x128xi8>
// AVX2-DAG: memref.alloc() {alignment = 64 : i64} : memref<1x64x128xf32>
// CHECK: memref.collapse_shape
// CHECK: scf.if
// VNNI-COUNT-3: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// AVX2: vector.fma
// CHECK: } else {
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<64x16xf32>
// CHECK: vector.store %{{.*}}, %{{.*}} : memref<64x16xf32>
// CHECK: vector.fma
// The last panel has 4 of 16 columns.
// CHECK: vector.maskedstore
func.func @numbers(%x: memref<2x?x64xbf16>, %p: memref<7x2x320xi8>, %out: memref<2x?x100xbf16>) attributes {kvern.kernel} {
  kvern.loop.quantized_product %x, %p, %out {activations = "exact", encoding = "q4_1"} : (memref<2x?x64xbf16>, memref<7x2x320xi8>, memref<2x?x100xbf16>) -> ()
  return
}

// -----

// Pairs of bytes of scales, fours of elements; rows that there are not are zero.
// CHECK-LABEL: func.func @pack
// CHECK: scf.forall {{.*}} in (2)
// CHECK: vector.load %{{.*}} : memref<17x68xi8>, vector<2xi8>
// CHECK: arith.select
// CHECK: vector.store %{{.*}} : memref<2x2x544xi8>, vector<2xi8>
// CHECK-COUNT-8: vector.load %{{.*}} : memref<17x68xi8>, vector<4xi8>
func.func @pack(%w: memref<17x68xi8>, %p: memref<2x2x544xi8>) attributes {kvern.kernel} {
  kvern.loop.pack_quantized %w, %p {encoding = "q8_0"} : (memref<17x68xi8>, memref<2x2x544xi8>) -> ()
  return
}
