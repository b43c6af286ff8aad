# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary embeddings that stretch the context a model was trained for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kvern.errors import InputError, ShapeError
from kvern.graph import TensorValue, TensorValueLike, ops
from kvern.nn.rotary_embedding import RotaryEmbedding, positive, twice

__all__ = [
    "Llama3RopeScalingParams",
    "Llama3RotaryEmbedding",
    "LongRoPERotaryEmbedding",
    "LongRoPEScalingParams",
]


@dataclass(frozen=True)
class Llama3RopeScalingParams:
    """How Llama 3 stretches the context.

    Attributes:
        factor: What the frequencies of long waves are divided by.
        low_freq_factor: Waves longer than `orig_max_position / low_freq_factor` are long.
        high_freq_factor: Waves shorter than `orig_max_position / high_freq_factor` stay; those between are blended.
        orig_max_position: The context before stretching.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    orig_max_position: int

    def __post_init__(self) -> None:
        positive(
            self,
            factor=self.factor,
            low_freq_factor=self.low_freq_factor,
            orig_max_position=self.orig_max_position,
        )
        if self.high_freq_factor <= self.low_freq_factor:
            raise InputError(
                "Llama3RopeScalingParams: expected high_freq_factor above low_freq_factor "
                f"({self.low_freq_factor}), but got {self.high_freq_factor}"
            )


@dataclass(frozen=True)
class LongRoPEScalingParams:
    """How LongRoPE stretches the context.

    Attributes:
        short_factor: What each frequency is divided by at positions below `original_max_position`.
        long_factor: The same at the positions beyond.
        original_max_position: The context before stretching.
        max_position_embeddings: The context after it.
    """

    short_factor: Sequence[float]
    long_factor: Sequence[float]
    original_max_position: int
    max_position_embeddings: int

    def __post_init__(self) -> None:
        positive(
            self,
            original_max_position=self.original_max_position,
            max_position_embeddings=self.max_position_embeddings,
        )


class Llama3RotaryEmbedding(RotaryEmbedding):
    """Divides the frequencies of long waves by a factor, keeps those of short ones, and blends between.

    Source: Dubey et al., "The Llama 3 Herd of Models", 2024, and its configuration files.
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
        scaling_params: Llama3RopeScalingParams | None = None,
    ) -> None:
        """Sets the frequencies; see `RotaryEmbedding`.

        Raises:
            ValueError: The size of a head is odd.
        """
        super().__init__(dim, n_heads, theta, max_seq_len, head_dim, _freqs_cis, interleaved)
        self.scaling_params = scaling_params

    def frequencies(self) -> np.ndarray:
        """The angle of each pair at position 1, `[head_dim / 2]`, in float64."""
        frequencies, params = super().frequencies(), self.scaling_params
        if params is None:
            return frequencies
        turns = params.orig_max_position * frequencies / (2 * math.pi)
        low, high = params.low_freq_factor, params.high_freq_factor
        kept = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - kept) * frequencies / params.factor + kept * frequencies


class LongRoPERotaryEmbedding(RotaryEmbedding):
    """Divides each frequency by a number of its own, another one beyond the original context.

    Source: Ding et al., "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens", 2024.
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
        scaling_params: LongRoPEScalingParams | None = None,
    ) -> None:
        """Sets the frequencies; see `RotaryEmbedding`.

        Raises:
            ValueError: The size of a head is odd, or there is not one divisor for each pair.
        """
        super().__init__(dim, n_heads, theta, max_seq_len, head_dim, _freqs_cis, interleaved)
        self.scaling_params = scaling_params
        if scaling_params is not None:
            for name in ("short_factor", "long_factor"):
                got = len(getattr(scaling_params, name))
                if got != self.head_dim // 2:
                    raise ShapeError(
                        f"LongRoPERotaryEmbedding: expected {self.head_dim // 2} numbers as {name}, one for each "
                        f"pair, but got {got}"
                    )

    def _angles(self, positions: TensorValue) -> TensorValue:
        params = self.scaling_params
        if params is None:
            return super()._angles(positions)
        short, long = (
            positions * twice(self.frequencies() / np.asarray(divisors, np.float64))
            for divisors in (params.short_factor, params.long_factor)
        )
        is_long = ops.greater_equal(positions, float(params.original_max_position))
        return ops.where(is_long, long, short)

    @property
    def score_factor(self) -> float:
        """What the factor of attention scores is multiplied by: `m^2`.

        m is `sqrt(1 + ln(max / original) / ln(original))` of the two contexts when the context was stretched, else 1.
        Other implementations multiply queries and keys by m each.
        """
        params = self.scaling_params
        if params is None:
            return 1.0
        grown = params.max_position_embeddings / params.original_max_position
        return 1.0 if grown <= 1 else 1 + math.log(grown) / math.log(params.original_max_position)
