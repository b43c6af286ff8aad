# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary position embeddings."""

from __future__ import annotations

import math

import numpy as np

from kvern.dtype import DType
from kvern.graph import Dim, TensorValue, TensorValueLike, ops
from kvern.nn.layer import Module

__all__ = ["RotaryEmbedding"]


class RotaryEmbedding(Module):
    """Rotates pairs of elements of each head by the position times a frequency of the pair.

    Pair i of d / 2 has the frequency `theta^(-2 i / d)`, d the size of a head.

    Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
    """

    def __init__(
        self,
        dim: int,
        n_heads: int,
        theta: float,
        max_seq_len: int,
        head_dim: int | None = None,
        _freqs_cis: TensorValueLike | None = None,
        interleaved: bool = True,
    ) -> None:
        """Sets the frequencies.

        Args:
            dim: Size of all heads together.
            n_heads: Number of heads.
            theta: Base of the frequencies.
            max_seq_len: Positions that the model is made for; the table has twice as many.
            head_dim: Size of a head; `dim // n_heads` by default.
            _freqs_cis: The table, `[rows, head_dim / 2, 2]`, in place of the computed one.
            interleaved: Whether pair i is elements 2 i and 2 i + 1, else elements i and i + head_dim / 2.

        Raises:
            ValueError: The size of a head is odd.
        """
        super().__init__()
        self.dim = dim
        self.n_heads = n_heads
        self.theta = theta
        self.max_seq_len = max_seq_len
        self.head_dim = dim // n_heads if head_dim is None else head_dim
        self.interleaved = interleaved
        self._freqs_cis = _freqs_cis
        if self.head_dim % 2 != 0:
            raise ValueError(f"RotaryEmbedding: expected an even head_dim, but got {self.head_dim}")

    def frequencies(self) -> np.ndarray:
        """The angle of each pair at position 1, `[head_dim / 2]`, in float64."""
        return self.theta ** (-np.arange(0, self.head_dim, 2) / self.head_dim)

    def freqs_cis_base(self) -> TensorValue:
        """The table `[2 * max_seq_len, head_dim / 2, 2]` of (cos, sin), in float32."""
        if self._freqs_cis is None:
            angles = np.outer(np.arange(2 * self.max_seq_len), self.frequencies())
            table = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
            self._freqs_cis = table.astype(np.float32)
        return TensorValue(self._freqs_cis)

    @property
    def freqs_cis(self) -> TensorValue:
        """The table as `ops.rope` takes it, `[rows, head_dim]`."""
        table = self.freqs_cis_base()
        return ops.reshape(table, [table.shape[0], self.head_dim])

    def compute_scale(self, user_scale: float | None = None) -> float:
        """The factor of attention scores: user_scale, or `1 / sqrt(head_dim)`."""
        return math.sqrt(1.0 / self.head_dim) if user_scale is None else user_scale

    def __call__(
        self,
        x: TensorValueLike,
        start_pos: TensorValueLike | None = None,
        seq_len: Dim | int | None = None,
    ) -> TensorValue:
        """Returns the rotated tensor, of the shape and type of x.

        Args:
            x: `[batch, seq, heads, head_dim]`, floating.
            start_pos: The position of the first of each sequence: a scalar or `[batch]`, an integer; 0 by default.
            seq_len: The second size of x, when it is to be checked.

        Raises:
            ValueError: x is no such tensor, or seq_len is not its second size.
        """
        x = TensorValue(x)
        if seq_len is not None:
            x = ops.rebind(x, [x.shape[0], seq_len, *x.shape[2:]])
        positions = None
        if start_pos is not None:
            start = TensorValue(start_pos).cast(DType.int64)
            steps = ops.range(0, x.shape[1], dtype=DType.int64, device=x.device)
            start = ops.reshape(start, [start.shape[0], 1]) if start.rank else start
            positions = ops.broadcast_to(start + steps, x.shape[:2])
        return ops.rope(x, self.freqs_cis, positions, interleaved=self.interleaved)
