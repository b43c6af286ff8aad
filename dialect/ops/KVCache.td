//===- KVCache.td - Keys and values in pages ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_KVCACHE_TD
#define KVERN_OPS_KVCACHE_TD

include "dialect/ops/AttentionFormula.td"
include "dialect/ops/LoopOp.td"

/// What the ops below have in common; part of their descriptions.
defvar Kvern_PagedBatch = [{
    The batch is ragged: sequence b has the rows from `offsets[b]` to below
    `offsets[b + 1]`, which are its tokens from position `cache_lengths[b]` on.
    Offsets ascend; one that does not, or lies outside, counts as the nearest
    that is possible. Tokens behind the last page of the table are not stored,
    and a page or a layer that there is not counts as the last.
}];
defvar Kvern_PagedConstraints = [{
    - kv_cache_c1: the operands are on the device of the cache
    - kv_cache_c2: `offsets` has rank 1 and one element more than there are sequences
    - kv_cache_c3: `layer` has rank 0}];

/// An op on a cache. It is a kernel of its own: how it reads and writes memory
/// keeps its place among the others.
class Kvern_KVCacheOp<string mnemonic, list<Trait> traits = []>
    : Kvern_Op<mnemonic, [Kvern_FusionOpInterface] # traits> {
  let extraClassDeclaration = [{
    ::kvern::FusionKind getFusionKind() {
      return ::kvern::FusionKind::Contraction;
    }
  }];
}

class Kvern_CacheArg<list<MemoryEffect> effects>
    : Arg<Kvern_AnyPagedCache, "", effects>;

def Kvern_PagedCacheOp
    : Kvern_Op<"paged_cache", [Pure, InferTypeOpAdaptor]> {
  let summary = "Memory and tables as a cache of keys and values";
  let description = [{
    `blocks` is [pages, 2, layers, page_size, heads, head_dim], with 1 in place
    of 2 for a latent cache: index 0 holds keys, 1 values. Token p of sequence b
    is in page `table[b, p floordiv page_size]` at place `p mod page_size`.
    `cache_lengths` is [sequences]: the tokens that each has in the cache before
    this step. `table` is [sequences, most pages of one]; what it holds beyond
    the tokens of a sequence is not read. `max_prompt_length` and
    `max_cache_length`, of one element, bound the tokens of this step and of the
    cache.

    With `scales`, [pages, 2, layers, page_size, heads, head_dim / granularity]
    of `f32`, an element is the number in `blocks` times the scale of its group
    of `granularity` adjacent elements.

    Constraints:

    - paged_cache_c1: the operands are on one device
    - paged_cache_c2: `blocks` has rank 6 and static sizes but for the pages
    - paged_cache_c3: the second size of `blocks` is 2 or 1
    - paged_cache_c4: `cache_lengths` is [sequences], `table` [sequences, pages]
    - paged_cache_c5: the lengths have one element
    - paged_cache_c6: `scales` have the sizes of `blocks` but for the last, which divides it
    - paged_cache_c7: `scales` are `f32`
    - those of the type

    ```mlir
    %5 = kvern.paged_cache %0, %1, %2, %3, %4 : (!kvern.buffer<[pages, 2, 30, 128, 3, 64], f32, cpu:0>, !kvern.tensor<[batch], ui32, cpu:0>, !kvern.tensor<[batch, most], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>, !kvern.tensor<[1], ui32, cpu:0>) -> !kvern.paged_cache<[batch], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyBuffer:$blocks,
      Kvern_IndexTensor:$cache_lengths, Kvern_IndexTensor:$table,
      Kvern_IndexTensor:$max_prompt_length, Kvern_IndexTensor:$max_cache_length,
      Optional<Kvern_AnyBuffer>:$scales);
  let results = (outs Kvern_AnyPagedCache:$cache);
  let assemblyFormat = [{
    $blocks `,` $cache_lengths `,` $table `,` $max_prompt_length `,`
    $max_cache_length (`scales` $scales^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_KVStoreOp : Kvern_KVCacheOp<"kv_store"> {
  let summary = "Stores keys and values of new tokens";
  let description = [{
    k and v are [tokens, heads, head_dim]; a latent cache takes no v. Elements
    are rounded to the cache's type, to nearest even. In a quantized cache each
    group of elements gets the scale `s = largest |x| / m`, m 127 for `i8` and
    448 for `f8E4M3FN`, and holds x / s; a group of zeros has the scale 0.

  }] # Kvern_PagedBatch # [{
    Constraints:

  }] # Kvern_PagedConstraints # [{
    - kv_store_c1: k and v are [tokens, heads, head_dim] of the cache
    - kv_store_c2: there is a v exactly when the cache is not latent

    ```mlir
    kvern.kv_store %k values %v, %offsets, %cache, %layer : (!kvern.tensor<[t, 3, 64], f32, cpu:0>, !kvern.tensor<[t, 3, 64], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> ()
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$k, Optional<Kvern_FloatTensor>:$v,
      Kvern_IndexTensor:$offsets, Kvern_CacheArg<[MemRead, MemWrite]>:$cache,
      Kvern_IndexTensor:$layer);
  let assemblyFormat = [{
    $k (`values` $v^)? `,` $offsets `,` $cache `,` $layer attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Kvern_RopeStoreOp : Kvern_KVCacheOp<"rope_store", [InferTypeOpAdaptor]> {
  let summary = "Rotates queries and keys, and stores keys and values";
  let description = [{
    The result is q as `kvern.rope` rotates it by `freqs`, each token at its
    position in its sequence; k rotated alike, and v, are stored as by
    `kvern.kv_store`. q is [tokens, heads of queries, head_dim], k and v are
    [tokens, heads, head_dim]. A position behind the table of `freqs` counts as
    its last.

  }] # Kvern_PagedBatch # [{
    Constraints:

  }] # Kvern_PagedConstraints # [{
    - those of `kvern.kv_store` and of `kvern.rope`
    - rope_store_c1: q is [tokens, a multiple of the heads, head_dim]

    ```mlir
    %0 = kvern.rope_store %q, %k, %v, %offsets, %freqs, %cache, %layer {interleaved} : (!kvern.tensor<[t, 9, 64], f32, cpu:0>, !kvern.tensor<[t, 3, 64], f32, cpu:0>, !kvern.tensor<[t, 3, 64], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[8192, 64], f32, cpu:0>, !kvern.paged_cache<[b], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 9, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$q, Kvern_FloatTensor:$k,
      Kvern_FloatTensor:$v, Kvern_IndexTensor:$offsets,
      Kvern_FloatTensor:$freqs, Kvern_CacheArg<[MemRead, MemWrite]>:$cache,
      Kvern_IndexTensor:$layer, UnitAttr:$interleaved);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $offsets `,` $freqs `,` $cache `,` $layer attr-dict
    `:` functional-type(operands, results)
  }];
}

def Kvern_QkvProjectStoreOp
    : Kvern_KVCacheOp<"qkv_project_store", [InferTypeOpAdaptor]> {
  let summary = "Projects to queries, keys and values, and stores the last two";
  let description = [{
    `x = hidden weight^T + bias` holds, for each token, `query_heads` heads of
    queries, then the keys and then the values of the cache's heads. The result
    is the queries, [tokens, query_heads, head_dim]; keys and values are stored
    as by `kvern.kv_store`. It is decomposed to those ops when kernels are
    formed: the store costs little next to the product.

  }] # Kvern_PagedBatch # [{
    Constraints:

  }] # Kvern_PagedConstraints # [{
    - qkv_project_store_c1: `weight` is [(query_heads + 2 heads) head_dim, columns of hidden]
    - qkv_project_store_c2: `bias` is [rows of weight]
    - qkv_project_store_c3: the cache is not latent
    - qkv_project_store_c4: `query_heads` is a multiple of the heads, above 0

    ```mlir
    %0 = kvern.qkv_project_store %hidden, %weight, %offsets, %cache, %layer {query_heads = 9 : i64} : (!kvern.tensor<[t, 576], f32, cpu:0>, !kvern.tensor<[960, 576], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 9, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$hidden, Kvern_FloatTensor:$weight,
      Optional<Kvern_FloatTensor>:$bias, Kvern_IndexTensor:$offsets,
      Kvern_CacheArg<[MemRead, MemWrite]>:$cache, Kvern_IndexTensor:$layer,
      I64Attr:$query_heads);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $hidden `,` $weight (`bias` $bias^)? `,` $offsets `,` $cache `,` $layer
    attr-dict `:` functional-type(operands, results)
  }];
}

def Kvern_PagedAttentionOp
    : Kvern_KVCacheOp<"paged_attention", [InferTypeOpAdaptor]> {
  let summary = "Attention of new tokens to all of their sequence in the cache";
  let description = [{
    q and the result are [tokens, heads of queries, head_dim]. The keys of
    sequence b are its tokens in the cache, those of this step among them: they
    have been stored before. With a latent cache values are the first
    `value_dim` elements of the keys, and rows of the result have as many.

  }] # Kvern_PagedBatch # Kvern_AttentionFormula # [{
    Pages that no query of a sequence sees are not read: those to the left of a
    window may have been given to others.

    Constraints:

  }] # Kvern_PagedConstraints # [{
    - paged_attention_c1: q is [tokens, a multiple of the heads, head_dim]
    - paged_attention_c2: `value_dim` is from 1 to head_dim with a latent cache, else 0
    - attention_c6, attention_c7, attention_c8, attention_c9 of `kvern.attention`
    - paged_attention_c3: the combination is one of those in docs/kv-cache.md

    ```mlir
    %0 = kvern.paged_attention %q, %offsets, %cache, %layer {mask_variant = "causal", scale = 1.250000e-01 : f64} : (!kvern.tensor<[t, 9, 64], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 9, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$q, Kvern_IndexTensor:$offsets,
      Kvern_CacheArg<[MemRead]>:$cache, Kvern_IndexTensor:$layer,
      Optional<Kvern_FloatTensor>:$sinks, F64Attr:$scale,
      DefaultValuedStrAttr<StrAttr, "causal">:$mask_variant,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap,
      DefaultValuedAttr<I64Attr, "0">:$value_dim);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $offsets `,` $cache `,` $layer (`sinks` $sinks^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_LatentAttentionOp
    : Kvern_KVCacheOp<"latent_attention", [InferTypeOpAdaptor]> {
  let summary = "Multi-head latent attention";
  let description = [{
    DeepSeek-AI, "DeepSeek-V2", 2024. A row of the latent cache is c, `latent`
    elements, and r, the rotated key that all heads share. q is [tokens, heads,
    nope + rope], `kv_b` [heads * (nope + value_dim), latent], for each head
    the rows U that make its keys of c and then those W that make its values:
    head h attends with q to keys (U c, r) and values W c. The result is [tokens,
    heads, value_dim].

    With `absorbed`, queries `q U` of `latent` elements attend to c and r as they
    are stored, and W is applied to what they gather: it is decomposed to
    products of each head and `kvern.paged_attention`, and no key and no value of
    a head is made. Without it, keys and values of a head are made once for all
    queries of a sequence, which is less work where those are many.

  }] # Kvern_PagedBatch # [{
    Constraints:

  }] # Kvern_PagedConstraints # [{
    - latent_attention_c1: the cache is latent
    - latent_attention_c2: q is [tokens, heads, nope + rope], with nope above 0
    - latent_attention_c3: `kv_b` is [heads * (nope + value_dim), latent]
    - attention_c6, attention_c7 of `kvern.attention`

    ```mlir
    %0 = kvern.latent_attention %q, %kv_b, %offsets, %cache, %layer {value_dim = 128 : i64, scale = 7.216880e-02 : f64} : (!kvern.tensor<[t, 16, 192], f32, cpu:0>, !kvern.tensor<[4096, 512], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.paged_cache<[b], layers = 30, page_size = 128, heads = 1, head_dim = 576, latent, f32, cpu:0>, !kvern.tensor<[], ui32, cpu:0>) -> !kvern.tensor<[t, 16, 128], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$q, Kvern_FloatTensor:$kv_b,
      Kvern_IndexTensor:$offsets, Kvern_CacheArg<[MemRead]>:$cache,
      Kvern_IndexTensor:$layer, I64Attr:$value_dim, F64Attr:$scale,
      DefaultValuedStrAttr<StrAttr, "causal">:$mask_variant,
      DefaultValuedAttr<I64Attr, "0">:$window, UnitAttr:$absorbed);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $kv_b `,` $offsets `,` $cache `,` $layer attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_KVCopyPagesOp : Kvern_Op<"kv_copy_pages"> {
  let summary = "Copies pages of one cache to another";
  let description = [{
    Page `destination_pages[i]` of `destination` becomes a copy, in all layers,
    of page `source_pages[i]` of `source`; the two may be one buffer. Numbers of
    pages that there are not are an error when the graph runs.

    Constraints:

    - kv_copy_pages_c1: the buffers have equal element types, and sizes but for the first
    - kv_copy_pages_c2: the lists of pages have rank 1 and one size
    - kv_copy_pages_c3: the operands are on one device

    ```mlir
    kvern.kv_copy_pages %0, %1, %2, %3 : !kvern.buffer<[n, 2, 30, 128, 3, 64], f32, cpu:0>, !kvern.buffer<[m, 2, 30, 128, 3, 64], f32, cpu:0>, !kvern.tensor<[k], ui32, cpu:0>, !kvern.tensor<[k], ui32, cpu:0>
    ```
  }];
  let arguments = (ins Arg<Kvern_AnyBuffer, "", [MemRead]>:$source,
      Arg<Kvern_AnyBuffer, "", [MemRead, MemWrite]>:$destination,
      Kvern_IndexTensor:$source_pages, Kvern_IndexTensor:$destination_pages);
  let assemblyFormat = "operands attr-dict `:` qualified(type(operands))";
  let hasVerifier = 1;
}

def Kvern_LoopKVStoreOp
    : Kvern_LoopOp<"kv_store", [AttrSizedOperandSegments]> {
  let summary = "Stores rows in pages, on tensors or memrefs";
  let description = [{
    `kvern.kv_store`, or with q and `freqs` `kvern.rope_store`, whose axes and
    attributes it has. `blocks` and `scales` are the memory of the cache, of
    8-bit integers where `cache_type` is an 8-bit float.

    Constraints:

    - loop_kv_store_c1: k, v and q have rank 3, `blocks` rank 6, and their last sizes are static and equal
    - loop_kv_store_c2: there are q, `freqs` and the result, or none of them

    ```mlir
    kvern.loop.kv_store ins(%k, %offsets, %lengths, %table, %layer) cache(%blocks) {cache_type = f32} : (tensor<?x1x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<i32>, memref<?x1x30x128x1x64xf32>) -> ()
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$k, Optional<Kvern_LoopOperand>:$v,
      Kvern_LoopOperand:$offsets, Kvern_LoopOperand:$lengths,
      Kvern_LoopOperand:$table, Kvern_LoopOperand:$layer,
      Optional<Kvern_LoopOperand>:$q, Optional<Kvern_LoopOperand>:$freqs,
      AnyStridedMemRef:$blocks, Optional<AnyStridedMemRef>:$scales,
      Variadic<Kvern_LoopOperand>:$init, TypeAttr:$cache_type,
      UnitAttr:$interleaved);
  let assemblyFormat = [{
    `ins` `(` $k `,` $offsets `,` $lengths `,` $table `,` $layer `)`
    (`values` `(` $v^ `)`)? (`rope` `(` $q^ `,` $freqs `)`)?
    `cache` `(` $blocks (`,` $scales^)? `)`
    (`outs` `(` $init^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // KVERN_OPS_KVCACHE_TD
