# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary position embeddings. `rotary_scaling.py` and `rotary_yarn.py` have those that stretch a context otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import InputError
from kvern.graph import DeviceRef, Dim, TensorValue, TensorValueLike, ops
from kvern.nn.layer import Module

__all__ = ["DynamicRotaryEmbedding", "LinearScalingParams", "RotaryEmbedding", "positive", "twice"]


def positive(owner: object, **numbers: float) -> None:
    """Raises ValueError when a number, by its name, is not above 0."""
    for name, number in numbers.items():
        if not number > 0:
            raise InputError(f"{type(owner).__name__}: expected {name} above 0, but got {number}")


def twice(values: np.ndarray) -> TensorValue:
    """A number for each pair, float64 `[head_dim / 2]`, as a constant for each element, `[1, head_dim]`."""
    return ops.constant(np.repeat(values, 2)[None])


@dataclass(frozen=True)
class LinearScalingParams:
    """Positions are divided by a factor, which stretches the context by it.

    Source: Chen et al., "Extending Context Window of Large Language Models via Positional Interpolation", 2023.

    Attributes:
        factor: The factor.
    """

    factor: float

    def __post_init__(self) -> None:
        positive(self, factor=self.factor)


class RotaryEmbedding(Module):
    """Rotates pairs of elements of each head by the position times a frequency of the pair.

    Pair i of d / 2 has the frequency `theta^(-2 i / d)`, d the size of a head. The table of cosines and sines is
    computed in float64 when the model is loaded, once, however many layers use it.

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
        scaling_params: LinearScalingParams | None = None,
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
            scaling_params: What the frequencies are divided by.

        Raises:
            ValueError: The size of a head is odd, or theta or max_seq_len is not above 0.
            TypeError: scaling_params are those of another rope, which has a class of its own.
        """
        super().__init__()
        if scaling_params is not None and not isinstance(scaling_params, LinearScalingParams):
            raise TypeError(
                f"{type(self).__name__}: expected scaling_params to be LinearScalingParams, but got {scaling_params!r}"
            )
        self.dim = dim
        self.n_heads = n_heads
        self.theta = theta
        self.max_seq_len = max_seq_len
        self.head_dim = dim // n_heads if head_dim is None else head_dim
        self.interleaved = interleaved
        self.scaling_params: Any = scaling_params
        self._freqs_cis = _freqs_cis
        if self.head_dim % 2 != 0:
            raise ValueError(
                f"{type(self).__name__}: expected an even head_dim, but got {self.head_dim}"
            )
        positive(self, head_dim=self.head_dim, theta=theta, max_seq_len=max_seq_len)

    def frequencies(self) -> np.ndarray:
        """The angle of each pair at position 1, `[head_dim / 2]`, in float64."""
        frequencies = self.theta ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        is_linear = isinstance(self.scaling_params, LinearScalingParams)
        return frequencies / self.scaling_params.factor if is_linear else frequencies

    @property
    def attention_factor(self) -> float:
        """What cosines and sines are multiplied by; scores get it squared."""
        return 1.0

    @property
    def score_factor(self) -> float:
        """What the factor of attention scores is multiplied by."""
        return 1.0

    def _rows(self) -> int:
        """Positions in the table."""
        return 2 * self.max_seq_len

    def _angles(self, positions: TensorValue) -> TensorValue:
        """The angles of positions, float64 `[rows, 1]`, as `[rows, head_dim]`: two equal ones for each pair."""
        return positions * twice(self.frequencies())

    def freqs_cis_base(self) -> TensorValue:
        """The table of (cos, sin), `[rows, head_dim / 2, 2]`, in float32, with `2 * max_seq_len` rows.

        Each call stages it; equal tables of a graph become one.
        """
        if self._freqs_cis is not None:
            return TensorValue(self._freqs_cis)
        positions = ops.range(0, self._rows(), dtype=DType.float64, device=DeviceRef.CPU())
        angles = self._angles(ops.unsqueeze(positions, 1))
        # sin(x) = cos(x - pi / 2), so that the table is one kernel, without tables of angles beside it.
        pairs = self.head_dim // 2
        table = ops.cos(angles + ops.constant(np.tile([0.0, -math.pi / 2], (1, pairs))))
        factor = self.attention_factor
        table = (table if factor == 1.0 else table * factor).cast(DType.float32)
        return ops.reshape(table, [self._rows(), pairs, 2])

    @property
    def freqs_cis(self) -> TensorValue:
        """The table as `ops.rope` takes it, `[rows, head_dim]`."""
        table = self.freqs_cis_base()
        return ops.reshape(table, [table.shape[0], self.head_dim])

    def compute_scale(self, user_scale: float | None = None) -> float:
        """The factor of attention scores: user_scale, or `score_factor / sqrt(head_dim)`."""
        return (
            math.sqrt(1.0 / self.head_dim) * self.score_factor if user_scale is None else user_scale
        )

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


class DynamicRotaryEmbedding(RotaryEmbedding):
    """Stretches the context as it grows beyond `max_seq_len`: the base grows with the length.

    At a length L above `max_seq_len` the base is `theta * (L / max_seq_len)^(d / (d - 2))`. A token is rotated by the
    base of the length at which it is the last, and keeps that in the cache.

    Source: bloc97, "Dynamically Scaled RoPE further increases performance of long context LLaMA", 2023.
    """

    def _angles(self, positions: TensorValue) -> TensorValue:
        angles = super()._angles(positions)
        # theta'^(-2 i / d) = theta^(-2 i / d) * (L / max_seq_len)^(-2 i / (d - 2))
        exponents = -np.arange(0, self.head_dim, 2) / max(self.head_dim - 2, 1)
        growth = ops.max((positions + 1.0) / float(self.max_seq_len), 1.0)
        return angles * ops.exp(ops.log(growth) * twice(exponents))
