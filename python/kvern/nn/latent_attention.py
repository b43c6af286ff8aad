# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention: keys and values are projections of one short row for each token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError, ShapeError
from kvern.graph import DeviceRef, TensorValue, ops
from kvern.nn._placement import Unsharded, only_device, refuse_quantization
from kvern.nn._ragged import token_positions
from kvern.nn.kv_cache import KVCacheParams, PagedCacheValues
from kvern.nn.layer import Module
from kvern.nn.linear import Linear
from kvern.nn.norm import RMSNorm
from kvern.nn.rotary_embedding import RotaryEmbedding

__all__ = ["LatentAttentionWithRope"]

_MODES = {None: "auto", "prefill": "prefill", "decode": "absorbed"}


class LatentAttentionWithRope(Unsharded, Module):
    """Attention whose cache has one row for each token: a latent vector, and a rotated key that all heads share.

    With `graph_mode="prefill"` keys and values are projected from the rows, head by head; otherwise queries and results
    are projected instead, which reads each row once for all heads. The results are the same.

    Source: DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model", 2024.

    Attributes:
        q_proj: Queries, `[heads * (nope + rope), hidden_size]`, without `q_lora_rank`.
        q_a_proj, q_a_layernorm, q_b_proj: With it: to `q_lora_rank`, its norm, and to queries.
        kv_a_proj_with_mqa: Rows of the cache, `[kv_lora_rank + rope, hidden_size]`.
        kv_a_layernorm: Norm of their latent part, `[kv_lora_rank]`.
        kv_b_proj: From it to keys and values, head by head, `[heads * (nope + v), kv_lora_rank]`.
        o_proj: Output projection, `[hidden_size, heads * v]`.
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
        devices: Sequence[DeviceRef] | None = None,
        linear_cls: Callable[..., Linear] = Linear,
        o_proj_dtype: DType | None = None,
        o_proj_quant_config: Any = None,
        scale: float | None = None,
        q_lora_rank: int | None = None,
        kv_lora_rank: int = 512,
        qk_nope_head_dim: int = 128,
        qk_rope_head_dim: int = 64,
        v_head_dim: int = 128,
        buffer_size: int = 16384,
        graph_mode: str | None = None,
        norm_dtype: DType | None = None,
        rms_norm_eps: float = 1e-6,
    ) -> None:
        """Declares the weights.

        Args:
            rope: Rotary embeddings of `qk_rope_head_dim` elements.
            num_attention_heads: Heads of the queries.
            num_key_value_heads: Heads of keys and values: as many, for each query head has its own.
            hidden_size: Size of the last axis of input and output.
            kv_params: Of the cache of latent rows.
            dtype: Element type of the weights.
            devices: The one device to compute on; the CPU by default.
            linear_cls: Class of the projections.
            o_proj_dtype: Element type of the output projection; dtype by default.
            o_proj_quant_config: Not supported.
            scale: Factor of the scores; None for `1 / sqrt(nope + rope)`, times the `score_factor` of rope.
            q_lora_rank: Width of latent queries; None when queries are projected directly.
            kv_lora_rank: Width of the latent part of a row.
            qk_nope_head_dim: Elements of a head without positions.
            qk_rope_head_dim: Elements of a head that are rotated.
            v_head_dim: Elements of a value.
            buffer_size: Tokens to be projected at a time; the kernel has blocks of its own, and does not use it.
            graph_mode: "prefill" for graphs that compute prompts; "decode" or None for those that may compute both.
            norm_dtype: Element type of the weights of the norms; dtype by default.
            rms_norm_eps: Epsilon of the norms.

        Raises:
            ValueError: Sizes do not fit each other, the cache or rope, or there is no such mode.
            NotImplementedError: There are several devices, or an option is not supported.
        """
        super().__init__()
        name = "LatentAttentionWithRope"
        device = only_device(name, devices or [DeviceRef.CPU()])
        refuse_quantization(name, o_proj_quant_config=o_proj_quant_config)
        if graph_mode not in _MODES:
            raise InputError(
                f"{name}: expected 'prefill', 'decode' or None as graph_mode, but got {graph_mode!r}"
            )
        row = kv_lora_rank + qk_rope_head_dim
        if not kv_params.is_mla or kv_params.head_dim != row:
            raise ShapeError(
                f"{name}: expected a MLAKVCacheParams with head_dim={row}, but got {type(kv_params).__name__} with "
                f"{kv_params.head_dim}"
            )
        if rope.head_dim != qk_rope_head_dim:
            raise ShapeError(
                f"{name}: expected a rope of heads of {qk_rope_head_dim} elements, but got {rope.head_dim}"
            )
        if num_attention_heads < 1 or num_key_value_heads not in (1, num_attention_heads):
            raise ShapeError(
                f"{name}: expected num_key_value_heads to be the {num_attention_heads} heads of the queries, or 1 for "
                f"the row, but got {num_key_value_heads}"
            )
        self.rope = rope
        self.kv_params = kv_params
        self.n_heads = num_attention_heads
        self.kv_lora_rank = kv_lora_rank
        self.qk_nope_head_dim = qk_nope_head_dim
        self.qk_rope_head_dim = qk_rope_head_dim
        self.v_head_dim = v_head_dim
        self.buffer_size = buffer_size
        self.graph_mode = graph_mode
        size = qk_nope_head_dim + qk_rope_head_dim
        self.scale = size**-0.5 * rope.score_factor if scale is None else scale
        linear = partial(linear_cls, dtype=dtype, device=device)
        norm_type = norm_dtype or dtype
        norm = partial(RMSNorm, dtype=norm_type, eps=rms_norm_eps, multiply_before_cast=False)
        queries = num_attention_heads * size
        self.q_lora_rank = q_lora_rank
        if q_lora_rank is None:
            self.q_proj = linear(hidden_size, queries)
        else:
            self.q_a_proj = linear(hidden_size, q_lora_rank)
            self.q_a_layernorm = norm(q_lora_rank)
            self.q_b_proj = linear(q_lora_rank, queries)
        self.kv_a_proj_with_mqa = linear(hidden_size, row)
        self.kv_a_layernorm = norm(kv_lora_rank)
        both = num_attention_heads * (qk_nope_head_dim + v_head_dim)
        self.kv_b_proj = linear(kv_lora_rank, both)
        values = num_attention_heads * v_head_dim
        self.o_proj = linear_cls(values, hidden_size, dtype=o_proj_dtype or dtype, device=device)

    def __call__(
        self,
        layer_idx: TensorValue,
        x: TensorValue,
        kv_collection: PagedCacheValues,
        freqs_cis: TensorValue,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Stores the rows of new tokens, and returns what they attend to; see `AttentionWithRope`.

        Returns:
            `[T, hidden_size]`.

        Raises:
            ValueError: Something has another shape.
        """
        rows, cache = x.shape[0], kv_collection.as_value()
        positions = token_positions(rows, kv_collection.cache_lengths, input_row_offsets)

        def rotate(part: TensorValue) -> TensorValue:
            return ops.rope(part, freqs_cis, positions, interleaved=self.rope.interleaved)

        q = self._queries(x)
        nope, latent = self.qk_nope_head_dim, self.kv_lora_rank
        q = ops.concat([q[..., :nope], rotate(q[..., nope:])], -1)
        row = ops.unsqueeze(self.kv_a_proj_with_mqa(x), 1)
        row = ops.concat([self.kv_a_layernorm(row[..., :latent]), rotate(row[..., latent:])], -1)
        ops.kv_store(cache, layer_idx, input_row_offsets, row)
        gathered = ops.latent_attention(
            q,
            input_row_offsets,
            cache,
            layer_idx,
            self._kv_b(x.dtype),
            value_dim=self.v_head_dim,
            scale=self.scale,
            mode=_MODES[self.graph_mode],
        )
        return self.o_proj(ops.reshape(gathered, [rows, self.n_heads * self.v_head_dim]))

    def _queries(self, x: TensorValue) -> TensorValue:
        """`[T, heads, nope + rope]`."""
        if self.q_lora_rank is None:
            q = self.q_proj(x)
        else:
            q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        size = self.qk_nope_head_dim + self.qk_rope_head_dim
        return ops.reshape(q, [x.shape[0], self.n_heads, size])

    def _kv_b(self, dtype: DType) -> TensorValue:
        """The weight of keys and values as numbers: the op has no kernel for blocks."""
        weight = self.kv_b_proj.weight
        encoding, value = weight.quantization_encoding, weight.to(self.kv_b_proj.device)
        return (value if encoding is None else ops.dequantize(encoding, value)).cast(dtype)
