// RUN: kvern-opt %s --kvern-lower-attention="vector-bits=256 vector-registers=16" -split-input-file | FileCheck %s

// Many rows: blocks of 96 in parallel. Keys are packed through transposes of
// 8 x 8, scores come from tiles of 6 rows and two vectors, blocks of keys end
// with what the last row sees.

// CHECK-LABEL: @prefill(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x512x4x64xf32>, %[[K:[a-z0-9]+]]: memref<1x512x4x64xf32>
// CHECK-NOT:     scf.if
// CHECK:         scf.forall (%{{.+}}, %{{.+}}, %{{.+}}) in (1, 4, 6) {
// CHECK-DAG:       memref.alloc() {alignment = 64 : i64} : memref<8192xf32>
// CHECK:           scf.for
// CHECK-COUNT-8:   vector.load %[[K]]
// CHECK-COUNT-24:  vector.shuffle
// CHECK:           scf.for %{{.+}} iter_args({{(%[^,]+, ){11}%[^,]+}}) ->
// CHECK-COUNT-48:  math.fma
// CHECK:           arith.shli
// CHECK:           arith.divf
// CHECK:           vector.store {{.*}} : memref<1x512x4x64xf32>, vector<8xf32>
func.func @prefill(%q: memref<1x512x4x64xf32>, %k: memref<1x512x4x64xf32>, %out: memref<1x512x4x64xf32>) attributes {kvern.kernel} {
  kvern.loop.attention ins(%q, %k, %k) outs(%out) {mask_variant = "causal", scale = 0.125 : f64} : (memref<1x512x4x64xf32>, memref<1x512x4x64xf32>, memref<1x512x4x64xf32>, memref<1x512x4x64xf32>) -> ()
  return
}

// -----

// Few rows: chunks of 256 keys in parallel, then the heads. The state of a
// chunk is that of 2 heads times 4 rows.

// CHECK-LABEL: @decode(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x1x8x64xf32>, %[[K:[a-z0-9]+]]: memref<?x?x2x64xf32>, {{.*}}, %[[B:[a-z0-9]+]]: index, %[[M:[a-z0-9]+]]: index)
// CHECK:         %[[STATE:.+]] = memref.alloc(%{{.+}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK:         scf.forall (%{{.+}}, %{{.+}}) in (%[[B]], %[[CHUNKS:[^)]+]]) {
// CHECK:           vector.load %[[K]]
// CHECK:           math.fma
// CHECK:           vector.shuffle
// CHECK:         scf.forall (%{{.+}}, %{{.+}}) in (%[[B]], 2) {
// CHECK:           scf.for %{{.+}} = %{{.+}} to %[[CHUNKS]]
func.func @decode(%q: memref<?x1x8x64xf32>, %k: memref<?x?x2x64xf32>, %out: memref<?x1x8x64xf32>, %b: index, %m: index) attributes {kvern.kernel} {
  %one = arith.constant 1 : index
  kvern.loop.attention ins(%q, %k, %k) sizes(%b, %one, %m) outs(%out) {scale = 0.125 : f64} : (memref<?x1x8x64xf32>, memref<?x?x2x64xf32>, memref<?x?x2x64xf32>, index, index, index, memref<?x1x8x64xf32>) -> ()
  return
}

// -----

// A number of queries that is not known gives both.

// CHECK-LABEL: @either(
// CHECK:         scf.if
// CHECK:           scf.forall
// CHECK:         } else {
// CHECK:           scf.forall
// CHECK:           scf.forall
func.func @either(%q: memref<?x?x8x64xf32>, %k: memref<?x?x2x64xf32>, %out: memref<?x?x8x64xf32>) attributes {kvern.kernel} {
  kvern.loop.attention ins(%q, %k, %k) outs(%out) {scale = 0.125 : f64} : (memref<?x?x8x64xf32>, memref<?x?x2x64xf32>, memref<?x?x2x64xf32>, memref<?x?x8x64xf32>) -> ()
  return
}

// -----

// With offsets, first the sequences of few rows, then those of many.

// CHECK-LABEL: @ragged(
// CHECK:         scf.forall (%{{.+}}) in
// CHECK:           memref.load %{{.+}} : memref<?xi32>
// CHECK:           scf.if
// CHECK:         scf.forall (%{{.+}}, %{{.+}}) in
// CHECK:           scf.if
func.func @ragged(%q: memref<?x8x40xf32>, %k: memref<?x8x40xf32>, %offsets: memref<?xi32>, %out: memref<?x8x40xf32>) attributes {kvern.kernel} {
  kvern.loop.attention ins(%q, %k, %k) offsets(%offsets, %offsets) outs(%out) {scale = 0.125 : f64} : (memref<?x8x40xf32>, memref<?x8x40xf32>, memref<?x8x40xf32>, memref<?xi32>, memref<?xi32>, memref<?x8x40xf32>) -> ()
  return
}

// -----

// The row of the table is spread once a token; a head is read and written once.

// CHECK-LABEL: @rope(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8x64xf32>, %[[TABLE:[a-z0-9]+]]: memref<9x64xf32>, %[[OUT:[a-z0-9]+]]: memref<?x8x64xf32>)
// CHECK:         scf.forall
// CHECK:           vector.load %[[TABLE]]
// CHECK:           vector.shuffle {{.*}} [0, 0, 2, 2, 4, 4, 6, 6]
// CHECK:           vector.shuffle {{.*}} [1, 1, 3, 3, 5, 5, 7, 7]
// CHECK:           vector.load %[[X]]
// CHECK:           vector.shuffle {{.*}} [1, 0, 3, 2, 5, 4, 7, 6]
// CHECK:           math.fma
// CHECK:           vector.store %{{.+}}, %[[OUT]]
func.func @rope(%x: memref<?x8x64xf32>, %table: memref<9x64xf32>, %out: memref<?x8x64xf32>) attributes {kvern.kernel} {
  kvern.loop.rope ins(%x, %table) outs(%out) {interleaved} : (memref<?x8x64xf32>, memref<9x64xf32>, memref<?x8x64xf32>) -> ()
  return
}
