//===- Attention.td - Attention and rotary positions -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_ATTENTION_TD
#define KVERN_OPS_ATTENTION_TD

include "dialect/ops/AttentionFormula.td"
include "dialect/ops/LoopOp.td"

/// What both forms demand; part of their descriptions.
defvar Kvern_AttentionConstraints = [{
    - attention_c1: q, k and v have the rank of this form
    - attention_c2: k and v have equal sizes but for the last
    - attention_c3: numbers of heads and head sizes are static and not 0
    - attention_c4: q and k have equal last sizes
    - attention_c5: `heads` is a multiple of `kv_heads`
    - attention_c6: `mask_variant` is one of those
    - attention_c7: `window` is above 0 with a variant that has one, else 0
    - attention_c8: `sinks` has shape [heads]
    - attention_c9: `softcap` is 0 or above, and finite}];

def Kvern_AttentionOp
    : Kvern_ComputeOp<"attention", "Contraction", [AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    q is [batch, queries, heads, head_dim], k [batch, keys, kv_heads, head_dim],
    v [batch, keys, kv_heads, value_dim], the result [batch, queries, heads,
    value_dim]. `mask` is added to the scores; it broadcasts to [batch, heads,
    queries, keys].

  }] # Kvern_AttentionFormula # [{
    Constraints:
  }] # Kvern_SameElementType # Kvern_AttentionConstraints # [{
    - attention_c10: q and k have equal batch sizes
    - attention_c11: `mask` broadcasts to [batch, heads, queries, keys]

    ```mlir
    %3 = kvern.attention %0, %1, %2 {mask_variant = "causal", scale = 1.250000e-01 : f64} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>, !kvern.tensor<[b, m, 2, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$q, Kvern_FloatTensor:$k,
      Kvern_FloatTensor:$v, Optional<Kvern_FloatTensor>:$mask,
      Optional<Kvern_FloatTensor>:$sinks, F64Attr:$scale,
      DefaultValuedStrAttr<StrAttr, "null">:$mask_variant,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`sinks` $sinks^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_RaggedAttentionOp
    : Kvern_ComputeOp<"ragged_attention", "Contraction"> {
  let summary = "Attention within sequences of different lengths";
  let description = [{
    q is [queries, heads, head_dim], k [keys, kv_heads, head_dim], v [keys,
    kv_heads, value_dim], the result [queries, heads, value_dim]. Sequence b is
    the rows from `q_offsets[b]` to `q_offsets[b + 1]` of q and the result, and
    those from `k_offsets[b]` to `k_offsets[b + 1]` of k and v. Offsets ascend;
    one that does not, or lies outside, counts as the nearest that is possible.
    Rows of no sequence give 0.

  }] # Kvern_AttentionFormula # [{
    Constraints:
  }] # Kvern_SameDevice # [{
    - ragged_attention_c1: q, k, v and `sinks` have one element type
  }] # Kvern_AttentionConstraints # [{
    - ragged_attention_c2: the offsets have rank 1, one size, which is not 0

    ```mlir
    %5 = kvern.ragged_attention %0, %1, %2, %3, %4 {mask_variant = "causal", scale = 1.250000e-01 : f64} : (!kvern.tensor<[t, 8, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[u, 2, 64], f32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>) -> !kvern.tensor<[t, 8, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$q, Kvern_FloatTensor:$k,
      Kvern_FloatTensor:$v, Kvern_IndexTensor:$q_offsets,
      Kvern_IndexTensor:$k_offsets, Optional<Kvern_FloatTensor>:$sinks,
      F64Attr:$scale, DefaultValuedStrAttr<StrAttr, "null">:$mask_variant,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $q_offsets `,` $k_offsets (`sinks` $sinks^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Kvern_RopeOp : Kvern_ComputeOp<"rope", "Contraction"> {
  let summary = "Rotary position embedding";
  let description = [{
    Su et al., 2021. x is [..., heads, head_dim], `table` is [rows, width]: row p
    holds width / 2 pairs (cos, sin) of position p. In the first `width` elements
    of each head the pairs (a, b) become (a cos - b sin, a sin + b cos), and the
    others stay. Pair i is elements 2 i and 2 i + 1 with `interleaved`, else
    elements i and i + width / 2.

    `positions` has a position for each of the leading indices of x; a negative
    one counts from the end of the table, one out of range is an error when the
    graph runs. Without it, the position is the index on the third axis from the
    end. Computed in `f32` (`f64` for `f64`).

    Constraints:
  }] # Kvern_SameDevice # [{
    - rope_c1: x has rank 3 or more, with `positions` 2 or more
    - rope_c2: `table` has rank 2
    - rope_c3: the last sizes of x and `table` are static, that of `table` even and at most that of x
    - rope_c4: `positions` has the shape of x without its last two axes
    - rope_c5: the table has the element type of x, or f32

    ```mlir
    %2 = kvern.rope %0, %1 {interleaved} : (!kvern.tensor<[b, n, 8, 64], f32, cpu:0>, !kvern.tensor<[4096, 64], f32, cpu:0>) -> !kvern.tensor<[b, n, 8, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x, Kvern_FloatTensor:$table,
      Optional<Kvern_IndexTensor>:$positions, UnitAttr:$interleaved);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = [{
    $x `,` $table (`positions` $positions^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_LoopAttentionOp
    : Kvern_LoopOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention on tensors or memrefs";
  let description = [{
    `kvern.attention`, or with offsets `kvern.ragged_attention`, whose axes and
    attributes it has. `sizes` may give batch, queries and keys as values that
    the caller of the kernel knows too.

    With `paged` it is `kvern.paged_attention`: `q_offsets` are the offsets, and
    k, the same memory as v, holds the pages, whose elements are of
    `cache_type` and have factors in `scales`. `sizes` are then the sequences,
    the queries of all, and the most pages of a sequence. With `kv_b` too it is
    `kvern.latent_attention`, whose keys and values are made from the rows.

    Constraints:

    - loop_attention_c1: q and the result have rank 4, with `q_offsets` 3; k and v have the rank of q, or 6 with `paged`
    - loop_attention_c2: the last two sizes are static, and fit each other
    - loop_attention_c3: `mask_variant` is one that there is
    - loop_attention_c4: there are no `sizes` or three; with `paged` three

    ```mlir
    %4 = kvern.loop.attention ins(%0, %1, %2) outs(%3) {mask_variant = "causal", scale = 1.250000e-01 : f64} : (tensor<2x?x8x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x8x64xf32>) -> tensor<2x?x8x64xf32>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$q, Kvern_LoopOperand:$k,
      Kvern_LoopOperand:$v, Optional<Kvern_LoopOperand>:$mask,
      Optional<Kvern_LoopOperand>:$sinks,
      Optional<Kvern_LoopOperand>:$q_offsets,
      Optional<Kvern_LoopOperand>:$k_offsets,
      Optional<Kvern_LoopOperand>:$lengths,
      Optional<Kvern_LoopOperand>:$table, Optional<Kvern_LoopOperand>:$layer,
      Optional<Kvern_LoopOperand>:$scales, Optional<Kvern_LoopOperand>:$kv_b,
      Variadic<Index>:$sizes,
      Kvern_LoopOperand:$init,
      F64Attr:$scale, DefaultValuedStrAttr<StrAttr, "null">:$mask_variant,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap,
      OptionalAttr<TypeAttr>:$cache_type);
  let assemblyFormat = [{
    `ins` `(` $q `,` $k `,` $v `)` (`mask` `(` $mask^ `)`)?
    (`sinks` `(` $sinks^ `)`)?
    (`offsets` `(` $q_offsets^ (`,` $k_offsets^)? `)`)?
    (`paged` `(` $lengths^ `,` $table `,` $layer (`,` $scales^)? `)`)?
    (`latent` `(` $kv_b^ `)`)?
    (`sizes` `(` $sizes^ `)`)? `outs` `(` $init `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def Kvern_LoopRopeOp : Kvern_LoopOp<"rope"> {
  let summary = "Rotary position embedding on tensors or memrefs";
  let description = [{
    `kvern.rope`, whose axes and attributes it has.

    Constraints:

    - loop_rope_c1: x and the result have equal ranks of 2 or more, the table has rank 2
    - loop_rope_c2: the last sizes are static, that of the table even and at most that of x

    ```mlir
    %3 = kvern.loop.rope ins(%0, %1) outs(%2) {interleaved} : (tensor<?x8x64xf32>, tensor<4096x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$x, Kvern_LoopOperand:$table,
      Optional<Kvern_LoopOperand>:$positions, Kvern_LoopOperand:$init,
      UnitAttr:$interleaved);
  let assemblyFormat = [{
    `ins` `(` $x `,` $table `)` (`positions` `(` $positions^ `)`)?
    `outs` `(` $init `)` attr-dict `:` functional-type(operands, results)
  }];
}

#endif // KVERN_OPS_ATTENTION_TD
