# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with rotary positions over a paged cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError, ShapeError
from kvern.graph import DeviceRef, TensorValue, ops
from kvern.graph.quantization import QuantizationEncoding
from kvern.nn._ragged import token_positions
from kvern.nn.attention import MHAMaskVariant
from kvern.nn.kv_cache import KVCacheParams, PagedCacheValues
from kvern.nn.linear import Linear
from kvern.nn.norm import RMSNorm
from kvern.nn.ragged_attention import CachedAttention
from kvern.nn.rotary_embedding import RotaryEmbedding

__all__ = ["AttentionWithRope", "GGUFQAttentionWithRope"]


class AttentionWithRope(CachedAttention):
    """Attention of ragged sequences to themselves through a cache, with rotary positions.

    Source: Vaswani et al., "Attention Is All You Need", 2017; Su et al., "RoFormer", 2021; Ainslie et al., "GQA", 2023.

    Attributes:
        qkv_proj: Projections to queries, keys and values: `q_proj`, `k_proj` and `v_proj`, or stacked.
        o_proj: Output projection.
        q_norm: Norm of each head of the queries, `[head_dim]`, with `use_qk_norm`.
        k_norm: The same for keys.
        rope: The rotary embeddings.
    """

    def __init__(
        self,
        *,
        rope: RotaryEmbedding,
        sharding_strategy: Any = None,
        num_attention_heads: int,
        num_key_value_heads: int,
        hidden_size: int,
        kv_params: KVCacheParams,
        devices: Sequence[DeviceRef] | None = None,
        dtype: DType = DType.float32,
        linear_cls: Callable[..., Linear] = Linear,
        stacked_qkv: bool = False,
        scale: float | None = None,
        has_bias: bool = False,
        quant_config: Any = None,
        clip_qkv: float | None = None,
        use_qk_norm: bool = False,
        rms_norm_eps: float = 1e-6,
        mask_variant: MHAMaskVariant = MHAMaskVariant.CAUSAL_MASK,
        sliding_window: int | None = None,
        _fuse_rope_and_store: bool = True,
        logits_soft_cap: float = 0.0,
        sinks: bool = False,
        quantization_encoding: Any = None,
        qk_norm_offset: float = 0.0,
    ) -> None:
        """Declares the weights.

        Args:
            rope: Rotary embeddings. Where their heads are smaller, the first elements of each head are rotated.
            sharding_strategy: Not supported.
            num_attention_heads: Heads of the queries; a multiple of those of keys and values.
            num_key_value_heads: Heads of keys and values.
            hidden_size: Size of the last axis of input and output.
            kv_params: Of the cache; they have the size of a head.
            devices: The one device to compute on; the CPU by default.
            dtype: Element type of the weights.
            linear_cls: Class of the projections.
            stacked_qkv: Whether queries, keys and values have one weight.
            scale: Factor of the scores; None for `1 / sqrt(head_dim)`, times the `score_factor` of rope.
            has_bias: Whether the projections have biases.
            quant_config: The configuration of the encoding; see `Linear`.
            clip_qkv: Bound of the weights of queries, keys and values; see `Linear`.
            use_qk_norm: Whether each head of queries and keys is normalized, before it is rotated.
            rms_norm_eps: Epsilon of these norms.
            mask_variant: Which keys a query sees.
            sliding_window: Tokens of the mask variants that have a window.
            _fuse_rope_and_store: Whether one op rotates and stores, or one each; the results are the same.
            logits_soft_cap: Scores s become `c * tanh(s / c)`; 0 for scores as they are.
            sinks: Whether each head has one more score in its denominator, the weight `sinks`.
            quantization_encoding: How the weights are stored, when they are quantized; see `Linear`.
            qk_norm_offset: What is added to the weights of the norms of heads, 1 for Gemma.

        Raises:
            ValueError: The heads do not fit each other, the cache or rope, a window is missing or surplus, or there
                are biases beside a stacked weight.
            NotImplementedError: There are several devices, or an option is not supported.
        """
        super().__init__(
            num_attention_heads=num_attention_heads,
            num_key_value_heads=num_key_value_heads,
            hidden_size=hidden_size,
            kv_params=kv_params,
            devices=devices,
            dtype=dtype,
            linear_cls=linear_cls,
            stacked_qkv=stacked_qkv,
            scale=scale,
            has_bias=has_bias,
            clip_qkv=clip_qkv,
            mask_variant=mask_variant,
            sliding_window=sliding_window,
            quantization_encoding=quantization_encoding,
            quant_config=quant_config,
            logits_soft_cap=logits_soft_cap,
            sinks=sinks,
        )
        self.sharding_strategy = sharding_strategy
        if rope.head_dim > self.head_dim:
            raise ShapeError(
                f"{type(self).__name__}: expected a rope of heads of at most {self.head_dim} elements, as in the "
                f"cache, but got {rope.head_dim}"
            )
        self.rope = rope
        if scale is None and rope.head_dim < self.head_dim:
            scale = self.scale * rope.score_factor
        self.scale = rope.compute_scale(scale)
        self.use_qk_norm = use_qk_norm
        self._fuse_rope_and_store = _fuse_rope_and_store
        if use_qk_norm:
            rounds_last = qk_norm_offset != 0
            self.q_norm, self.k_norm = (
                RMSNorm(self.head_dim, dtype, rms_norm_eps, qk_norm_offset, rounds_last)
                for _ in range(2)
            )

    def __call__(
        self,
        layer_idx: TensorValue,
        x: TensorValue,
        kv_collection: PagedCacheValues,
        freqs_cis: TensorValue,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Rotates and stores keys and values of new tokens, and returns what they attend to.

        Args:
            layer_idx: The layer in the cache, a uint32 scalar.
            x: `[T, hidden_size]`: the new tokens of all sequences, one after the other.
            kv_collection: The cache.
            freqs_cis: The table of rope, `rope.freqs_cis`.
            input_row_offsets: uint32 `[B + 1]`: the first row of each sequence, and T.

        Returns:
            `[T, hidden_size]`.

        Raises:
            ValueError: Something has another shape.
        """
        q, k, v = self._project(x)
        if self.use_qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        cache, interleaved = kv_collection.as_value(), self.rope.interleaved
        if self._fuse_rope_and_store:
            q = ops.rope_store(
                q, k, v, input_row_offsets, freqs_cis, cache, layer_idx, interleaved=interleaved
            )
        else:
            positions = token_positions(q.shape[0], kv_collection.cache_lengths, input_row_offsets)
            q, k = (ops.rope(y, freqs_cis, positions, interleaved=interleaved) for y in (q, k))
            ops.kv_store(cache, layer_idx, input_row_offsets, k, v)
        return self._attend(q, layer_idx, kv_collection, input_row_offsets)


class GGUFQAttentionWithRope(AttentionWithRope):
    """Attention with rotary positions whose projections have the weights of a GGUF file, in blocks.

    Each of `q_proj`, `k_proj`, `v_proj` and `o_proj` may have an encoding of its own: before a graph is built, set
    `quantization_encoding` and `shape` of its weight in `raw_state_dict()`.
    """

    def __init__(
        self,
        *,
        rope: RotaryEmbedding,
        num_attention_heads: int,
        num_key_value_heads: int,
        hidden_size: int,
        kv_params: KVCacheParams,
        dtype: DType,
        quantization_encoding: Any,
        devices: Sequence[DeviceRef] | None = None,
        linear_cls: Callable[..., Linear] = Linear,
        scale: float | None = None,
        has_bias: bool = False,
        clip_qkv: float | None = None,
        mask_variant: MHAMaskVariant = MHAMaskVariant.CAUSAL_MASK,
    ) -> None:
        """Declares the weights, of uint8; see `AttentionWithRope`.

        Args:
            rope: Rotary embeddings.
            num_attention_heads: Heads of the queries.
            num_key_value_heads: Heads of keys and values.
            hidden_size: Size of the last axis of input and output.
            kv_params: Of the cache.
            dtype: uint8, or the element type of biases.
            quantization_encoding: An encoding of GGUF files.
            devices: The one device to compute on; the CPU by default.
            linear_cls: Class of the projections.
            scale: Factor of the scores.
            has_bias: Whether the projections have biases.
            clip_qkv: Not supported.
            mask_variant: Which keys a query sees; one without a window.

        Raises:
            ValueError: The encoding is not one of GGUF files, or the heads do not fit.
            NotImplementedError: There is no kernel for the encoding, or there is `clip_qkv`.
        """
        known = [each for each in QuantizationEncoding if each.is_gguf]
        if quantization_encoding not in known:
            raise InputError(
                f"GGUFQAttentionWithRope: expected an encoding of {', '.join(each.value for each in known)}, but got "
                f"{quantization_encoding!r}"
            )
        super().__init__(
            rope=rope,
            num_attention_heads=num_attention_heads,
            num_key_value_heads=num_key_value_heads,
            hidden_size=hidden_size,
            kv_params=kv_params,
            devices=devices,
            dtype=dtype,
            linear_cls=linear_cls,
            scale=scale,
            has_bias=has_bias,
            clip_qkv=clip_qkv,
            mask_variant=mask_variant,
            quantization_encoding=quantization_encoding,
        )
