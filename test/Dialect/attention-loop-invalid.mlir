// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @loop_attention_c1(%q: memref<?x8x64xf32>) {
  // expected-error @+1 {{'kvern.loop.attention' op expected an operand of rank 4, but got 'memref<?x8x64xf32>'}}
  kvern.loop.attention ins(%q, %q, %q) outs(%q) {scale = 1.0 : f64} : (memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_attention_c2(%q: memref<1x?x8x64xf32>, %k: memref<1x?x3x64xf32>) {
  // expected-error @+1 {{'kvern.loop.attention' op expected numbers of heads and head sizes that are static and fit each other}}
  kvern.loop.attention ins(%q, %k, %k) outs(%q) {scale = 1.0 : f64} : (memref<1x?x8x64xf32>, memref<1x?x3x64xf32>, memref<1x?x3x64xf32>, memref<1x?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_attention_c3(%q: memref<1x?x8x64xf32>) {
  // expected-error @+1 {{'kvern.loop.attention' op expected a mask_variant that there is, but got 'none'}}
  kvern.loop.attention ins(%q, %q, %q) outs(%q) {mask_variant = "none", scale = 1.0 : f64} : (memref<1x?x8x64xf32>, memref<1x?x8x64xf32>, memref<1x?x8x64xf32>, memref<1x?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_attention_c4(%q: memref<1x?x8x64xf32>, %n: index) {
  // expected-error @+1 {{'kvern.loop.attention' op expected no sizes or three, but got 1}}
  kvern.loop.attention ins(%q, %q, %q) sizes(%n) outs(%q) {scale = 1.0 : f64} : (memref<1x?x8x64xf32>, memref<1x?x8x64xf32>, memref<1x?x8x64xf32>, index, memref<1x?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_attention_c1_paged(%q: memref<?x8x64xf32>, %o: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>) {
  // expected-error @+1 {{'kvern.loop.attention' op expected an operand of rank 6, but got 'memref<?x8x64xf32>'}}
  kvern.loop.attention ins(%q, %q, %q) offsets(%o) paged(%o, %t, %l) outs(%q) {scale = 1.0 : f64} : (memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_attention_c4_paged(%q: memref<?x8x64xf32>, %k: memref<?x2x2x4x8x64xf32>, %o: memref<?xi32>, %t: memref<?x?xi32>, %l: memref<i32>) {
  // expected-error @+1 {{'kvern.loop.attention' op expected three sizes, but got 0}}
  kvern.loop.attention ins(%q, %k, %k) offsets(%o) paged(%o, %t, %l) outs(%q) {scale = 1.0 : f64} : (memref<?x8x64xf32>, memref<?x2x2x4x8x64xf32>, memref<?x2x2x4x8x64xf32>, memref<?xi32>, memref<?xi32>, memref<?x?xi32>, memref<i32>, memref<?x8x64xf32>) -> ()
  return
}

// -----

func.func @loop_rope_c1(%x: memref<?x8x64xf32>, %y: memref<8x64xf32>) {
  // expected-error @+1 {{'kvern.loop.rope' op expected operands of equal rank of 2 or more and a table of rank 2, but got 'memref<?x8x64xf32>', 'memref<8x64xf32>' and 'memref<8x64xf32>'}}
  kvern.loop.rope ins(%x, %y) outs(%y) : (memref<?x8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) -> ()
  return
}

// -----

func.func @loop_rope_c2(%x: memref<?x8x64xf32>, %y: memref<8x65xf32>) {
  // expected-error @+1 {{'kvern.loop.rope' op expected static last sizes, that of the table even and at most that of x, but got 'memref<?x8x64xf32>', 'memref<?x8x64xf32>' and 'memref<8x65xf32>'}}
  kvern.loop.rope ins(%x, %y) outs(%x) : (memref<?x8x64xf32>, memref<8x65xf32>, memref<?x8x64xf32>) -> ()
  return
}
