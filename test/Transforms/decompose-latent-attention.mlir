// RUN: kvern-opt %s --kvern-decompose-latent-attention | FileCheck %s
// Queries are brought to the latent space, and what they gather back from it.

!rows = !kvern.tensor<[t, 2, 10], f32, cpu:0>
!cache = !kvern.paged_cache<[b], layers = 3, page_size = 16, heads = 1, head_dim = 12, latent, f32, cpu:0>

// CHECK-LABEL: @f
func.func @f(%q: !rows, %kv_b: !kvern.tensor<[22, 8], bf16, cpu:0>, %offsets: !kvern.tensor<[b + 1], ui32, cpu:0>,
    %blocks: !kvern.buffer<[p, 1, 3, 16, 1, 12], f32, cpu:0>, %lengths: !kvern.tensor<[b], ui32, cpu:0>,
    %table: !kvern.tensor<[b, most], ui32, cpu:0>, %one: !kvern.tensor<[1], ui32, cpu:0>,
    %layer: !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 2, 5], f32, cpu:0> {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %one, %one : (!kvern.buffer<[p, 1, 3, 16, 1, 12], f32, cpu:0>, !kvern.tensor<[b], ui32, cpu:0>, !kvern.tensor<[b, most], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !cache
  // CHECK: %[[CACHE:.*]] = kvern.paged_cache
  // CHECK: %[[WIDE:.*]] = kvern.cast {{.*}} -> !kvern.tensor<[22, 8], f32, cpu:0>
  // CHECK: %[[W:.*]] = kvern.reshape %[[WIDE]] {{.*}} -> !kvern.tensor<[2, 11, 8], f32, cpu:0>
  // CHECK: %[[KEYS:.*]] = kvern.slice %[[W]] {{.*}} -> !kvern.tensor<[2, 6, 8], f32, cpu:0>
  // CHECK: %[[VALUES:.*]] = kvern.slice %[[W]] {{.*}} -> !kvern.tensor<[2, 5, 8], f32, cpu:0>
  // CHECK: kvern.matmul {{.*}}, %[[KEYS]] {{.*}} -> !kvern.tensor<[2, t, 8], f32, cpu:0>
  // CHECK: %[[Q:.*]] = kvern.concat {{.*}} -> !kvern.tensor<[t, 2, 12], f32, cpu:0>
  // CHECK: kvern.paged_attention %[[Q]], %{{.*}}, %[[CACHE]], {{.*}}value_dim = 8{{.*}} -> !kvern.tensor<[t, 2, 8], f32, cpu:0>
  // CHECK: kvern.matmul {{.*}}, %[[VALUES]] {transpose_rhs} {{.*}} -> !kvern.tensor<[2, t, 5], f32, cpu:0>
  // CHECK-NOT: kvern.latent_attention
  %0 = kvern.latent_attention %q, %kv_b, %offsets, %cache, %layer {absorbed, value_dim = 5 : i64, scale = 0.3 : f64} : (!rows, !kvern.tensor<[22, 8], bf16, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !cache, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 2, 5], f32, cpu:0>
  return %0 : !kvern.tensor<[t, 2, 5], f32, cpu:0>
}
