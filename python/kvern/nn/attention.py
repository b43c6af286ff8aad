# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention layers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, ops
from kvern.nn._placement import Unsharded, only_device
from kvern.nn.layer import Module
from kvern.nn.linear import Linear

__all__ = ["AttentionMaskVariant", "MHAMaskVariant", "MultiheadAttention"]


class AttentionMaskVariant(str, Enum):
    """Which keys a query sees; the values are what `ops.attention` takes as `mask_variant`."""

    CAUSAL_MASK = "causal"
    CHUNKED_CAUSAL_MASK = "chunked_causal"
    NULL_MASK = "null"
    SLIDING_WINDOW_CAUSAL_MASK = "sliding_window_causal"
    SLIDING_WINDOW_NONCAUSAL_MASK = "sliding_window_noncausal"
    TENSOR_MASK = "tensor_mask"


class MHAMaskVariant(str, Enum):
    """The same by number, as attention layers take it."""

    CAUSAL_MASK = "0"
    NULL_MASK = "2"
    CHUNKED_CAUSAL_MASK = "3"
    SLIDING_WINDOW_CAUSAL_MASK = "4"
    SLIDING_WINDOW_NONCAUSAL_MASK = "5"


class MultiheadAttention(Unsharded, Module):
    """Multi-head attention of a sequence to itself, all positions to all, without a cache.

    Source: Vaswani et al., "Attention Is All You Need", 2017.

    Attributes:
        q_proj, k_proj, v_proj: `hidden_size` to `hidden_size`; with `stacked_qkv`, `qkv_proj` to three times that.
        o_proj: `hidden_size` to `hidden_size`.
    """

    def __init__(
        self,
        num_attention_heads: int,
        hidden_size: int,
        devices: Sequence[DeviceRef] | None = None,
        dtype: DType = DType.float32,
        scale: float | None = None,
        qkv_has_bias: bool = False,
        o_proj_has_bias: bool = False,
        stacked_qkv: bool = False,
    ) -> None:
        """Makes the projections.

        Args:
            num_attention_heads: Number of heads; divides hidden_size.
            hidden_size: Size of the last axis of input and output.
            devices: The one device to compute on; the CPU by default.
            dtype: Element type of the weights.
            scale: Factor of the scores; None for `1 / sqrt(hidden_size / num_attention_heads)`.
            qkv_has_bias: Whether the projections to queries, keys and values have a bias.
            o_proj_has_bias: Whether the output projection has a bias.
            stacked_qkv: Whether queries, keys and values have one weight.

        Raises:
            ValueError: The heads do not divide hidden_size.
            NotImplementedError: There are several devices.
        """
        super().__init__()
        if num_attention_heads <= 0 or hidden_size % num_attention_heads != 0:
            raise ValueError(
                "MultiheadAttention: expected hidden_size to be a multiple of num_attention_heads "
                f"({num_attention_heads}), but got {hidden_size}"
            )
        device = only_device("MultiheadAttention", devices or [DeviceRef.CPU()])
        self.num_attention_heads = num_attention_heads
        self.hidden_size = hidden_size
        self.scale = scale
        self.stacked_qkv = stacked_qkv
        linear = partial(Linear, hidden_size, dtype=dtype, device=device)
        if stacked_qkv:
            self.qkv_proj = linear(3 * hidden_size, has_bias=qkv_has_bias)
        else:
            self.q_proj = linear(hidden_size, has_bias=qkv_has_bias)
            self.k_proj = linear(hidden_size, has_bias=qkv_has_bias)
            self.v_proj = linear(hidden_size, has_bias=qkv_has_bias)
        self.o_proj = linear(hidden_size, has_bias=o_proj_has_bias)

    @property
    def wqkv(self) -> TensorValue:
        """The weights of queries, keys and values, one below the other: `[3 * hidden_size, hidden_size]`."""
        return ops.concat([layer.weight.to(layer.device) for layer in self._projections()], 0)

    @property
    def wqkv_bias(self) -> TensorValue | None:
        """Their biases, `[3 * hidden_size]`; None when they have none."""
        layers = self._projections()
        biases = [layer.bias.to(layer.device) for layer in layers if layer.bias is not None]
        return ops.concat(biases, 0) if biases else None

    def _projections(self) -> list[Linear]:
        return [self.qkv_proj] if self.stacked_qkv else [self.q_proj, self.k_proj, self.v_proj]

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns what each position gathers from all of its sequence.

        Args:
            x: `[batch, seq, hidden_size]`.

        Returns:
            `[batch, seq, hidden_size]`.

        Raises:
            ValueError: x is no such tensor.
        """
        x = TensorValue(x)
        projected = [layer(x) for layer in self._projections()]
        if self.stacked_qkv:
            projected = ops.split(projected[0], [self.hidden_size] * 3, axis=-1)
        size = self.hidden_size // self.num_attention_heads
        heads = [*x.shape[:-1], self.num_attention_heads, size]
        q, k, v = (ops.reshape(part, heads) for part in projected)
        gathered = ops.attention(q, k, v, scale=self.scale)
        return self.o_proj(ops.reshape(gathered, [*x.shape[:-1], self.hidden_size]))
