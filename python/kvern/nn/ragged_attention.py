# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over keys and values in a paged cache, and what such layers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError, ShapeError, UnsupportedError
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded, only_device
from kvern.nn._quantization import quantized
from kvern.nn._ragged import mask_of
from kvern.nn.attention import MHAMaskVariant
from kvern.nn.kv_cache import KVCacheParams, PagedCacheValues
from kvern.nn.layer import Module
from kvern.nn.linear import Linear
from kvern.nn.stacked_linear import StackedLinear

__all__ = ["CachedAttention", "RaggedAttention"]


class CachedAttention(Unsharded, Module):
    """What attention layers with a cache of keys and values have in common: projections, mask, sinks.

    Attributes:
        qkv_proj: Queries, keys and values of the input. Stacked it has one weight, `qkv_proj.weight` of
            `[(heads + 2 * kv_heads) * head_dim, hidden_size]`; else the weights are `q_proj.weight`, `k_proj.weight`
            and `v_proj.weight`.
        o_proj: Of what the heads gathered, `[hidden_size, heads * head_dim]`.
        sinks: `[heads]`, or None.
    """

    sinks: Weight | None

    def __init__(
        self,
        *,
        mask_variant: MHAMaskVariant,
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
        clip_qkv: float | None = None,
        sliding_window: int | None = None,
        logits_soft_cap: float = 0.0,
        sinks: bool = False,
        quantization_encoding: Any = None,
        quant_config: Any = None,
    ) -> None:
        """Declares the weights.

        Args:
            mask_variant: Which keys a query sees.
            num_attention_heads: Heads of the queries; a multiple of those of keys and values.
            num_key_value_heads: Heads of keys and values.
            hidden_size: Size of the last axis of input and output.
            kv_params: Of the cache; they have the size of a head.
            devices: The one device to compute on; the CPU by default.
            dtype: Element type of the weights.
            linear_cls: Class of the projections.
            stacked_qkv: Whether queries, keys and values have one weight.
            scale: Factor of the scores; None for `1 / sqrt(head_dim)`.
            has_bias: Whether the projections have biases.
            clip_qkv: Bound of the weights of queries, keys and values; see `Linear`.
            sliding_window: Tokens of the mask variants that have a window.
            logits_soft_cap: Scores s become `c * tanh(s / c)`; 0 for scores as they are.
            sinks: Whether each head has one more score in its denominator, the weight `sinks`.
            quantization_encoding: How the weights are stored, when they are quantized; see `Linear`.
            quant_config: The configuration of the encoding; see `Linear`.

        Raises:
            ValueError: The heads do not fit each other or the cache, a window is missing or surplus, or there are
                biases beside a stacked weight.
            NotImplementedError: There are several devices, or an option is not supported.
        """
        super().__init__()
        name = type(self).__name__
        device = only_device(name, devices or [DeviceRef.CPU()])
        _check_heads(name, num_attention_heads, num_key_value_heads, kv_params)
        if stacked_qkv and has_bias:
            raise InputError(f"{name}: expected has_bias=False with stacked_qkv=True, but got True")
        self.n_heads = num_attention_heads
        self.num_key_value_heads = num_key_value_heads
        self.hidden_size = hidden_size
        self.kv_params = kv_params
        self.head_dim = kv_params.head_dim
        self.mask_variant = MHAMaskVariant(mask_variant)
        self.sliding_window = sliding_window
        self.logits_soft_cap = logits_soft_cap
        self.scale = self.head_dim**-0.5 if scale is None else scale
        mask_of(name, self.mask_variant, self._window)
        queries = num_attention_heads * self.head_dim
        keys = num_key_value_heads * self.head_dim
        self.qkv_proj = StackedLinear(
            hidden_size,
            [queries, keys, keys],
            ["q_proj", "k_proj", "v_proj"],
            dtype,
            device,
            stacked_qkv,
            has_bias,
            linear_cls,
            quant_config,
            clip_qkv,
            quantization_encoding=quantization_encoding,
        )
        linear = quantized(linear_cls, quantization_encoding, quant_config)
        self.o_proj = linear(queries, hidden_size, dtype=dtype, device=device, has_bias=has_bias)
        self.sinks = (
            Weight("sinks", dtype, [num_attention_heads], DeviceRef.CPU()) if sinks else None
        )
        self.device = device

    @property
    def _window(self) -> int:
        return -1 if self.sliding_window is None else self.sliding_window

    @property
    def wqkv(self) -> TensorValue:
        """The weights of queries, keys and values, one below the other, bounded by `clip_qkv`.

        Raises:
            NotImplementedError: They are quantized.
        """
        return self.qkv_proj.stacked_weight

    @property
    def wqkv_bias(self) -> TensorValue | None:
        """Their biases; None when they have none."""
        return self.qkv_proj.stacked_bias

    def _project(self, x: TensorValueLike) -> tuple[TensorValue, TensorValue, TensorValue]:
        """Returns queries, keys and values of `[T, hidden_size]`: `[T, heads, head_dim]` each."""
        rows = TensorValue(x).shape[0]
        heads = (self.n_heads, self.num_key_value_heads, self.num_key_value_heads)
        q, k, v = (
            ops.reshape(part, [rows, count, self.head_dim])
            for part, count in zip(self.qkv_proj.parts(x), heads, strict=True)
        )
        return q, k, v

    def _attend(
        self,
        q: TensorValue,
        layer_idx: TensorValue,
        kv_collection: PagedCacheValues,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Returns the output, `[T, hidden_size]`, of queries, `[T, heads, head_dim]`."""
        mask, window = mask_of(type(self).__name__, self.mask_variant, self._window)
        gathered = ops.paged_attention(
            q,
            input_row_offsets,
            kv_collection.as_value(),
            layer_idx,
            scale=self.scale,
            mask_variant=mask,
            local_window_size=window,
            sinks=None if self.sinks is None else self.sinks.to(self.device).cast(q.dtype),
            softcap=self.logits_soft_cap,
        )
        return self.o_proj(ops.reshape(gathered, [q.shape[0], self.n_heads * self.head_dim]))


def _check_heads(name: str, heads: int, kv_heads: int, params: KVCacheParams) -> None:
    if params.is_mla:
        raise UnsupportedError(
            f"{name}: expected a cache of keys and values (MHAKVCacheParams), but got {type(params).__name__}"
        )
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise ShapeError(
            f"{name}: expected num_attention_heads to be a multiple of num_key_value_heads ({kv_heads}), but "
            f"got {heads}"
        )
    if params.n_kv_heads_per_device != kv_heads:
        raise ShapeError(
            f"{name}: expected the {params.n_kv_heads_per_device} heads of the cache as num_key_value_heads, but got "
            f"{kv_heads}"
        )


class RaggedAttention(CachedAttention):
    """Attention of ragged sequences to themselves through a cache, without positions.

    Attributes:
        qkv_proj: Projections to queries, keys and values: `q_proj`, `k_proj` and `v_proj`, or stacked.
        o_proj: Output projection.
    """

    def __call__(
        self,
        layer_idx: TensorValue,
        x: TensorValue,
        kv_collection: PagedCacheValues,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Stores keys and values of new tokens, and returns what they attend to.

        Args:
            layer_idx: The layer in the cache, a uint32 scalar.
            x: `[T, hidden_size]`: the new tokens of all sequences, one after the other.
            kv_collection: The cache.
            input_row_offsets: uint32 `[B + 1]`: the first row of each sequence, and T.

        Returns:
            `[T, hidden_size]`.

        Raises:
            ValueError: Something has another shape.
        """
        q, k, v = self._project(x)
        ops.kv_store(kv_collection.as_value(), layer_idx, input_row_offsets, k, v)
        return self._attend(q, layer_idx, kv_collection, input_row_offsets)
