// RUN: kvern-opt %s -kvern-insert-checks | FileCheck %s

// CHECK-LABEL: func.func @gather
func.func @gather(%x: !kvern.tensor<[10, 4], f32, cpu:0>, %i: !kvern.tensor<[n, 2], i32, cpu:0>) -> !kvern.tensor<[n, 2, 4], f32, cpu:0> {
  // CHECK: %[[FLAT:.*]] = kvern.reshape %arg1 {shape = #kvern.shape<[n * 2]>}
  // CHECK: %[[WIDE:.*]] = kvern.cast %[[FLAT]] {dtype = i64}
  // CHECK: %[[LOW:.*]] = kvern.reduce_min %[[WIDE]]
  // CHECK: %[[HIGH:.*]] = kvern.reduce_max %[[WIDE]]
  // CHECK: kvern.check.indices %[[LOW]], %[[HIGH]] {axis = 0 : i64, size = #kvern.dim<10>}
  // CHECK: kvern.gather
  %0 = kvern.gather %x, %i {axis = 0 : i64} : (!kvern.tensor<[10, 4], f32, cpu:0>, !kvern.tensor<[n, 2], i32, cpu:0>) -> !kvern.tensor<[n, 2, 4], f32, cpu:0>
  return %0 : !kvern.tensor<[n, 2, 4], f32, cpu:0>
}

// What follows from sizes being non-negative is not checked.
// CHECK-LABEL: func.func @proven
// CHECK-NOT: kvern.check
func.func @proven(%x: !kvern.tensor<[n + 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> {
  %0 = kvern.slice %x {starts = [#kvern.dim<1>], stops = [#kvern.dim<n + 1>], steps = array<i64: 1>, out_dims = [unit]} : (!kvern.tensor<[n + 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}

// CHECK-LABEL: func.func @unproven
func.func @unproven(%x: !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[5], f32, cpu:0> {
  // CHECK: kvern.check.sizes {at_most, lhs = #kvern.dim<5>, rhs = #kvern.dim<n>, subject = "the slice of axis 0 to stop within the axis"}
  // CHECK-NOT: kvern.check
  // CHECK: kvern.slice
  %0 = kvern.slice %x {starts = [#kvern.dim<0>], stops = [#kvern.dim<5>], steps = array<i64: 1>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[5], f32, cpu:0>
  return %0 : !kvern.tensor<[5], f32, cpu:0>
}

// CHECK-LABEL: func.func @runtime
func.func @runtime(%x: !kvern.tensor<[n], f32, cpu:0>, %stop: !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0> {
  // CHECK: kvern.check.slice %arg1 {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop}
  %0 = kvern.slice %x, %stop {starts = [#kvern.dim<0>], stops = [unit], steps = array<i64: 1>, out_dims = [#kvern.dim<m>]} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[], i64, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  return %0 : !kvern.tensor<[m], f32, cpu:0>
}

// A size that has been named is bound, or compared with what the bounds give.
// CHECK-LABEL: func.func @named
func.func @named(%x: !kvern.tensor<[n], f32, cpu:0>) -> (!kvern.tensor<[m], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) {
  // CHECK: kvern.check.slice {axis = 0 : i64, count = #kvern.dim<m>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 2 : i64, stop = #kvern.dim<n>}
  // CHECK-NEXT: kvern.slice
  %0 = kvern.slice %x {starts = [#kvern.dim<0>], stops = [#kvern.dim<n>], steps = array<i64: 2>, out_dims = [#kvern.dim<m>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[m], f32, cpu:0>
  // CHECK-NEXT: kvern.check.slice {axis = 0 : i64, count = #kvern.dim<4>, size = #kvern.dim<n>, start = #kvern.dim<0>, step = 1 : i64, stop = #kvern.dim<n>}
  // CHECK-NEXT: kvern.slice
  %1 = kvern.slice %x {starts = [#kvern.dim<0>], stops = [#kvern.dim<n>], steps = array<i64: 1>, out_dims = [#kvern.dim<4>]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[4], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[m], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>
}

// What a window needs of sizes that have names.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: !kvern.tensor<[n, h, 7, 8], f32, cpu:0>, %f: !kvern.tensor<[5, 3, 8, 16], f32, cpu:0>, %y: !kvern.tensor<[n, m], f32, cpu:0>) {
  // CHECK: kvern.check.sizes {at_most, checked_op = "kvern.conv2d", lhs = #kvern.dim<5>, rhs = #kvern.dim<h + 2>, subject = "the window to fit into padded axis 1"}
  // CHECK-NEXT: kvern.conv2d
  %0 = kvern.conv2d %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 0, 0>} : (!kvern.tensor<[n, h, 7, 8], f32, cpu:0>, !kvern.tensor<[5, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h - 2, 5, 16], f32, cpu:0>
  // CHECK: kvern.check.sizes {at_most, checked_op = "kvern.pad", lhs = #kvern.dim<3>, rhs = #kvern.dim<m>, subject = "axis 1 to have the elements that are repeated"}
  // CHECK-NEXT: kvern.pad
  %1 = kvern.pad %y {paddings = array<i64: 0, 0, 2, 1>, mode = "reflect"} : (!kvern.tensor<[n, m], f32, cpu:0>) -> !kvern.tensor<[n, m + 3], f32, cpu:0>
  return
}

// The table of rotary positions has a row for each; given ones are indices.

// CHECK-LABEL: @rope(
// CHECK:         kvern.check.sizes {at_most, checked_op = "kvern.rope", lhs = #kvern.dim<n>, rhs = #kvern.dim<r>, subject = "the table to have a row for each position"}
// CHECK:         kvern.rope
// CHECK:         kvern.check.indices {{.*}} {axis = 0 : i64, checked_op = "kvern.rope", size = #kvern.dim<r>}
// CHECK:         kvern.rope
func.func @rope(%x: !kvern.tensor<[b, n, 2, 8], f32, cpu:0>, %table: !kvern.tensor<[r, 8], f32, cpu:0>, %p: !kvern.tensor<[b, n], i64, cpu:0>) -> (!kvern.tensor<[b, n, 2, 8], f32, cpu:0>, !kvern.tensor<[b, n, 2, 8], f32, cpu:0>) {
  %0 = kvern.rope %x, %table : (!kvern.tensor<[b, n, 2, 8], f32, cpu:0>, !kvern.tensor<[r, 8], f32, cpu:0>) -> !kvern.tensor<[b, n, 2, 8], f32, cpu:0>
  %1 = kvern.rope %x, %table positions %p : (!kvern.tensor<[b, n, 2, 8], f32, cpu:0>, !kvern.tensor<[r, 8], f32, cpu:0>, !kvern.tensor<[b, n], i64, cpu:0>) -> !kvern.tensor<[b, n, 2, 8], f32, cpu:0>
  return %0, %1 : !kvern.tensor<[b, n, 2, 8], f32, cpu:0>, !kvern.tensor<[b, n, 2, 8], f32, cpu:0>
}

// Pages are bounded by the last one, so there is one; those that are copied are
// indices.

// CHECK-LABEL: @cache(
// CHECK:         kvern.check.sizes {at_most, checked_op = "kvern.paged_cache", lhs = #kvern.dim<1>, rhs = #kvern.dim<p>, subject = "the cache to have a page"}
// CHECK-NEXT:    kvern.paged_cache
// CHECK-COUNT-2: kvern.check.indices {{.*}} {axis = 0 : i64, checked_op = "kvern.kv_copy_pages", size = #kvern.dim<p>}
// CHECK-NEXT:    kvern.kv_copy_pages
func.func @cache(%b: !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, %n: !kvern.tensor<[b], ui32, cpu:0>, %t: !kvern.tensor<[b, m], ui32, cpu:0>, %most: !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0> {
  %0 = kvern.paged_cache %b, %n, %t, %most, %most : (!kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, m], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
  kvern.kv_copy_pages %b, %b, %n, %n : !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>
  return %0 : !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
}
