// RUN: kvern-opt %s --kvern-lower-sampling="vector-bits=256" -split-input-file | FileCheck %s

// Rows in parallel. The largest logit comes first, in four registers a turn;
// only a row that is sampled goes on: bisection counts candidates and adds up
// their weights.

// CHECK-LABEL: @sample(
// CHECK-SAME:    %[[LOGITS:[a-z0-9]+]]: memref<2x512xf32>
// CHECK:         scf.forall (%[[ROW:.+]]) in (2) {
// CHECK:           scf.for
// CHECK-COUNT-4:   vector.load %[[LOGITS]]
// CHECK:           scf.if
// CHECK:             arith.cmpf ogt
// CHECK:             scf.if
// CHECK:               memref.alloc() {{.*}} : memref<544xf32>
// CHECK:               scf.while
// CHECK:                 vector.reduction <add>, %{{.+}} : vector<8xi32> into i32
// CHECK:               arith.uitofp %{{.+}} : i64 to f64
// CHECK:           memref.store %{{.+}}[%[[ROW]]] : memref<2xi64>
// CHECK-NOT:     kvern.loop
func.func @sample(%logits: memref<2x512xf32>, %f: memref<2xf32>, %i: memref<2xi64>, %tokens: memref<2xi64>) attributes {kvern.kernel} {
  kvern.loop.sample_tokens ins(%logits, %f, %i, %f, %f, %i, %i) outs(%tokens) : (memref<2x512xf32>, memref<2xf32>, memref<2xi64>, memref<2xf32>, memref<2xf32>, memref<2xi64>, memref<2xi64>, memref<2xi64>) -> ()
  return
}

// -----

// The end of a row that is no multiple of a block is read through masks.

// CHECK-LABEL: @logprobs(
// CHECK:         vector.maskedload
// CHECK:         math.log
// CHECK:         memref.store %{{.+}} : memref<2xf32>
func.func @logprobs(%logits: memref<2x?xf32>, %f: memref<2xf32>, %i: memref<2xi64>, %tokens: memref<2xi64>, %logprobs: memref<2xf32>, %v: index) attributes {kvern.kernel} {
  kvern.loop.sample_tokens ins(%logits, %f, %i, %f, %f, %i, %i) sizes(%v) outs(%tokens, %logprobs) {stream = 1 : i64} : (memref<2x?xf32>, memref<2xf32>, memref<2xi64>, memref<2xf32>, memref<2xf32>, memref<2xi64>, memref<2xi64>, index, memref<2xi64>, memref<2xf32>) -> ()
  return
}

// -----

// The same search; what is left goes where it came from.

// CHECK-LABEL: @filter(
// CHECK:         scf.forall
// CHECK:           scf.while
// CHECK:           memref.load %{{.+}} : memref<544xi32>
// CHECK:           memref.store %{{.+}} : memref<2x512xf32>
func.func @filter(%logits: memref<2x512xf32>, %f: memref<2xf32>, %i: memref<2xi64>, %result: memref<2x512xf32>) attributes {kvern.kernel} {
  kvern.loop.filter_logits ins(%logits, %f, %i, %f, %f) outs(%result) : (memref<2x512xf32>, memref<2xf32>, memref<2xi64>, memref<2xf32>, memref<2xf32>, memref<2x512xf32>) -> ()
  return
}

// -----

// Entries of tokens out of range touch no memory.

// CHECK-LABEL: @penalties(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<?x512xf32>, {{.*}}, %[[RESULT:[a-z0-9]+]]: memref<?x512xf32>
// CHECK:         scf.forall
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK:             memref.store %{{.+}}, %[[RESULT]]
func.func @penalties(%logits: memref<?x512xf32>, %data: memref<?x2xi32>, %offsets: memref<?xi32>, %f: memref<?xf32>, %result: memref<?x512xf32>) attributes {kvern.kernel} {
  kvern.loop.apply_penalties ins(%logits, %data, %offsets, %f, %f, %f) outs(%result) : (memref<?x512xf32>, memref<?x2xi32>, memref<?xi32>, memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?x512xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: @counts(
// CHECK:         scf.for
// CHECK:         scf.if
// CHECK-COUNT-2:   memref.store
func.func @counts(%data: memref<?x2xi32>, %offsets: memref<?xi32>, %tokens: memref<?xi64>, %result: memref<?x2xi32>) attributes {kvern.kernel} {
  kvern.loop.count_tokens ins(%data, %offsets, %tokens) outs(%result) : (memref<?x2xi32>, memref<?xi32>, memref<?xi64>, memref<?x2xi32>) -> ()
  return
}
