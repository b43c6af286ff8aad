// RUN: kvern-opt %s --kvern-decompose-projections | FileCheck %s
// One product gives queries, keys and values; the last two are stored.

!heads = !kvern.tensor<[t, 4, 8], f32, cpu:0>
!cache = !kvern.paged_cache<[b], layers = 3, page_size = 16, heads = 2, head_dim = 8, f32, cpu:0>

// CHECK-LABEL: @f
func.func @f(%x: !kvern.tensor<[t, 32], f32, cpu:0>, %w: !kvern.tensor<[64, 32], f32, cpu:0>, %bias: !kvern.tensor<[64], f32, cpu:0>,
    %offsets: !kvern.tensor<[b + 1], ui32, cpu:0>, %blocks: !kvern.buffer<[p, 2, 3, 16, 2, 8], f32, cpu:0>,
    %lengths: !kvern.tensor<[b], ui32, cpu:0>, %table: !kvern.tensor<[b, most], ui32, cpu:0>,
    %one: !kvern.tensor<[1], ui32, cpu:0>, %layer: !kvern.tensor<[], ui32, cpu:0>) -> !heads {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %one, %one : (!kvern.buffer<[p, 2, 3, 16, 2, 8], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, most], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !cache
  // CHECK: %[[CACHE:.*]] = kvern.paged_cache
  // CHECK: %[[PRODUCT:.*]] = kvern.matmul {{.*}} {transpose_rhs} {{.*}} -> !kvern.tensor<[t, 64], f32, cpu:0>
  // CHECK: %[[SUM:.*]] = kvern.add %[[PRODUCT]], %{{.*}}
  // CHECK: %[[X:.*]] = kvern.reshape %[[SUM]] {{.*}} -> !kvern.tensor<[t, 8, 8], f32, cpu:0>
  // CHECK: %[[K:.*]] = kvern.slice %[[X]] {{.*}} -> !kvern.tensor<[t, 2, 8], f32, cpu:0>
  // CHECK: %[[V:.*]] = kvern.slice %[[X]] {{.*}} -> !kvern.tensor<[t, 2, 8], f32, cpu:0>
  // CHECK: kvern.kv_store %[[K]] values %[[V]], %{{.*}}, %[[CACHE]]
  // CHECK: kvern.slice %[[X]] {{.*}} -> !kvern.tensor<[t, 4, 8], f32, cpu:0>
  // CHECK-NOT: kvern.qkv_project_store
  %0 = kvern.qkv_project_store %x, %w bias %bias, %offsets, %cache, %layer {query_heads = 4 : i64} : (!kvern.tensor<[t, 32], f32, cpu:0>, !kvern.tensor<[64, 32], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !cache, !kvern.tensor<[], ui32, cpu:0>) -> !heads
  return %0 : !heads
}
