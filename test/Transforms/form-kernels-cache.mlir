// RUN: kvern-opt %s --kvern-form-kernels | FileCheck %s

// The layer of a cache is an operand of kernels, so all layers share them: one
// store and one attention.

!cache = !kvern.paged_cache<[b], layers = 2, page_size = 4, heads = 2, head_dim = 8, f32, cpu:0>
!blocks = !kvern.buffer<[p, 2, 2, 4, 2, 8], f32, cpu:0>
!rows = !kvern.tensor<[t, 2, 8], f32, cpu:0>
!offsets = !kvern.tensor<[b + 1], ui32, cpu:0>
!layer = !kvern.tensor<[], ui32, cpu:0>
!lengths = !kvern.tensor<[b], ui32, cpu:0>
!table = !kvern.tensor<[b, most], ui32, cpu:0>
!bound = !kvern.tensor<[1], ui32, cpu:0>
// CHECK-LABEL: func.func @layers
// CHECK:         %[[ZERO:.+]] = kvern.constant {{.*}}dense<0>
// CHECK:         %[[ONE:.+]] = kvern.constant {{.*}}dense<1>
// CHECK-NEXT:    kvern.call @kernel_kv_store({{.*}}, %[[ZERO]])
// CHECK-NEXT:    kvern.call @kernel_paged_attention({{.*}}, %[[ZERO]])
// CHECK-NEXT:    kvern.call @kernel_kv_store({{.*}}, %[[ONE]])
// CHECK-NEXT:    kvern.call @kernel_paged_attention({{.*}}, %[[ONE]])
// CHECK:       func.func private @kernel_kv_store(
// CHECK-NEXT:    kvern.paged_cache
// CHECK-NEXT:    kvern.kv_store
// CHECK:       func.func private @kernel_paged_attention(
// CHECK-NEXT:    kvern.paged_cache
// CHECK-NEXT:    kvern.paged_attention
// CHECK-NOT:   func.func
func.func @layers(%x: !rows, %offsets: !offsets, %blocks: !blocks, %lengths: !lengths, %table: !table, %bound: !bound) -> !rows {
  %cache = kvern.paged_cache %blocks, %lengths, %table, %bound, %bound : (!blocks, !lengths, !table, !bound, !bound) -> !cache
  %zero = kvern.constant {device = #kvern.device<cpu:0>, value = dense<0> : tensor<ui32>} : () -> !layer
  %one = kvern.constant {device = #kvern.device<cpu:0>, value = dense<1> : tensor<ui32>} : () -> !layer
  kvern.kv_store %x values %x, %offsets, %cache, %zero : (!rows, !rows, !offsets, !cache, !layer) -> ()
  %0 = kvern.paged_attention %x, %offsets, %cache, %zero {scale = 0.125 : f64} : (!rows, !offsets, !cache, !layer) -> !rows
  kvern.kv_store %0 values %0, %offsets, %cache, %one : (!rows, !rows, !offsets, !cache, !layer) -> ()
  %1 = kvern.paged_attention %0, %offsets, %cache, %one {scale = 0.125 : f64} : (!rows, !offsets, !cache, !layer) -> !rows
  return %1 : !rows
}
