// RUN: kvern-opt %s --kvern-lower-attention="vector-bits=256 vector-registers=16" -split-input-file | FileCheck %s

// Sequences and blocks of 16 rows are parallel. Offsets, the page and the layer
// are bounded, and a token behind the table is not stored.

// CHECK-LABEL: @store(
// CHECK-SAME:    %[[K:[a-z0-9]+]]: memref<?x2x8xf32>, %[[O:[a-z0-9]+]]: memref<?xi32>, %[[N:[a-z0-9]+]]: memref<?xi32>, %[[T:[a-z0-9]+]]: memref<?x?xi32>, %[[L:[a-z0-9]+]]: memref<i32>, %[[P:[a-z0-9]+]]:
// CHECK:         scf.forall (%[[B:.+]], %{{.+}}) in
// CHECK-COUNT-2:   memref.load %[[O]]
// CHECK:           memref.load %[[N]][%[[B]]]
// CHECK:           %[[INSIDE:.+]] = arith.cmpi slt
// CHECK-NEXT:      scf.if %[[INSIDE]] {
// CHECK:             memref.load %[[T]][%[[B]], %{{.+}}]
// CHECK:             %[[PAGE:.+]] = arith.minui
// CHECK:             memref.load %[[L]][]
// CHECK:             %[[LAYER:.+]] = arith.minui
// CHECK:             %[[PLACE:.+]] = arith.remui
// CHECK-COUNT-2:     vector.store %{{.+}}, %[[P]][%[[PAGE]], %{{.+}}, %[[LAYER]], %[[PLACE]], %{{.+}}] : memref<?x2x2x4x2x8xf32>, vector<8xf32>
func.func @store(%k: memref<?x2x8xf32>, %o: memref<?xi32>, %n: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>, %p: memref<?x2x2x4x2x8xf32>) attributes {kvern.kernel} {
  kvern.loop.kv_store ins(%k, %o, %n, %t, %l) values(%k) cache(%p) {cache_type = f32} : (memref<?x2x8xf32>, memref<?x2x8xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x2x4x2x8xf32>) -> ()
  return
}

// -----

// Two groups of 16 elements for the key and two for the value: the largest, the
// scale, and rounded quotients.

// CHECK-LABEL: @quantize(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: memref<?x2x2x4x1x32xi8>, %[[S:[a-z0-9]+]]: memref<?x2x2x4x1x2xf32>
// CHECK:         vector.reduction <maximumf>
// CHECK:         memref.store %{{.+}}, %[[S]]
// CHECK:         math.roundeven
// CHECK:         vector.store %{{.+}}, %[[P]]
// CHECK-COUNT-3: memref.store %{{.+}}, %[[S]]
func.func @quantize(%k: memref<?x1x32xf32>, %o: memref<?xi32>, %n: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>, %p: memref<?x2x2x4x1x32xi8>, %s: memref<?x2x2x4x1x2xf32>) attributes {kvern.kernel} {
  kvern.loop.kv_store ins(%k, %o, %n, %t, %l) values(%k) cache(%p, %s) {cache_type = i8} : (memref<?x1x32xf32>, memref<?x1x32xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x2x2x4x1x32xi8>, memref<?x2x2x4x1x2xf32>) -> ()
  return
}
