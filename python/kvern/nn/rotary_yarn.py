# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary embeddings that stretch the context by the rules of YaRN."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kvern.graph import TensorValueLike
from kvern.nn.rotary_embedding import RotaryEmbedding, positive

__all__ = [
    "DeepseekYarnRopeScalingParams",
    "DeepseekYarnRotaryEmbedding",
    "YarnRotaryEmbedding",
    "YarnScalingParams",
]


@dataclass(frozen=True)
class YarnScalingParams:
    """How YaRN stretches the context.

    Attributes:
        factor: What low frequencies are divided by.
        beta_fast: Pairs that turn more often than this within the original context stay.
        beta_slow: Pairs that turn less often are divided in full; those between are blended.
        original_max_position_embeddings: The context before stretching.
        truncate: Whether the bounds of the blend are whole numbers of pairs.
    """

    factor: float
    beta_fast: float
    beta_slow: float
    original_max_position_embeddings: int
    truncate: bool

    def __post_init__(self) -> None:
        positive(
            self,
            factor=self.factor,
            beta_fast=self.beta_fast,
            beta_slow=self.beta_slow,
            original_max_position_embeddings=self.original_max_position_embeddings,
        )


@dataclass(frozen=True)
class DeepseekYarnRopeScalingParams:
    """How the models of DeepSeek use YaRN.

    Attributes:
        scaling_factor: What low frequencies are divided by.
        original_max_position_embeddings: The context before stretching.
        beta_fast: Pairs that turn more often than this within the original context stay.
        beta_slow: Pairs that turn less often are divided in full; those between are blended.
        mscale: Growth of cosines and sines with the logarithm of the factor.
        mscale_all_dim: Growth of all elements, which goes to the factor of the scores.
    """

    scaling_factor: float
    original_max_position_embeddings: int
    beta_fast: int
    beta_slow: int
    mscale: float
    mscale_all_dim: float

    def __post_init__(self) -> None:
        positive(
            self,
            scaling_factor=self.scaling_factor,
            beta_fast=self.beta_fast,
            beta_slow=self.beta_slow,
            original_max_position_embeddings=self.original_max_position_embeddings,
        )


def _yarn(frequencies: np.ndarray, theta: float, params: YarnScalingParams) -> np.ndarray:
    """Blends frequencies, float64 `[d / 2]`, with those divided by the factor."""
    size, context = 2 * len(frequencies), params.original_max_position_embeddings

    def pair(turns: float) -> float:
        """The pair that turns so often within the context."""
        return size * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair(params.beta_fast), pair(params.beta_slow)
    if params.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    high = high + 0.001 if low == high else high
    ramp = np.clip((np.arange(len(frequencies)) - low) / (high - low), 0, 1)
    return frequencies * (1 - ramp) + frequencies / params.factor * ramp


def _growth(factor: float, weight: float = 1.0) -> float:
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0


class YarnRotaryEmbedding(RotaryEmbedding):
    """Divides low frequencies by a factor, keeps high ones, and blends between; cosines and sines grow.

    The table has `max_seq_len` rows, and its values are multiplied by `0.1 ln(factor) + 1`.

    Source: Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models", 2023.
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
        scaling_params: YarnScalingParams | None = None,
    ) -> None:
        """Sets the frequencies; see `RotaryEmbedding`.

        Raises:
            ValueError: The size of a head is odd.
        """
        super().__init__(dim, n_heads, theta, max_seq_len, head_dim, _freqs_cis, interleaved)
        self.scaling_params = scaling_params

    def _rows(self) -> int:
        return self.max_seq_len

    def frequencies(self) -> np.ndarray:
        """The angle of each pair at position 1, `[head_dim / 2]`, in float64."""
        frequencies, params = super().frequencies(), self._blend()
        return frequencies if params is None else _yarn(frequencies, self.theta, params)

    def _blend(self) -> YarnScalingParams | None:
        """How frequencies are blended; None for frequencies as they are."""
        return self.scaling_params

    @property
    def attention_factor(self) -> float:
        """What cosines and sines are multiplied by."""
        return 1.0 if self.scaling_params is None else _growth(self.scaling_params.factor)


class DeepseekYarnRotaryEmbedding(YarnRotaryEmbedding):
    """YaRN as in the models of DeepSeek: `dim` is the size of the rotated part of a head.

    Cosines and sines are multiplied by `g(mscale) / g(mscale_all_dim)`, scores by `g(mscale_all_dim)^2`, where
    `g(m) = 0.1 m ln(scaling_factor) + 1`. The table has `max_seq_len` rows.

    Source: DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model", 2024.
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
        scaling_params: DeepseekYarnRopeScalingParams | None = None,
    ) -> None:
        """Sets the frequencies; see `RotaryEmbedding`.

        Args:
            dim: Size of the rotated part of a head.
            n_heads: Number of heads.
            theta: Base of the frequencies.
            max_seq_len: Positions in the table.
            head_dim: The same as dim, which is its default.
            _freqs_cis: The table, in place of the computed one.
            interleaved: Whether pairs are neighbours.
            scaling_params: How the context is stretched.

        Raises:
            ValueError: The size is odd.
        """
        size = dim if head_dim is None else head_dim
        super().__init__(dim, n_heads, theta, max_seq_len, size, _freqs_cis, interleaved)
        self.scaling_params = scaling_params

    def _blend(self) -> YarnScalingParams | None:
        params = self.scaling_params
        return params and YarnScalingParams(
            params.scaling_factor,
            params.beta_fast,
            params.beta_slow,
            params.original_max_position_embeddings,
            truncate=True,
        )

    @property
    def attention_factor(self) -> float:
        """What cosines and sines are multiplied by."""
        params = self.scaling_params
        if params is None:
            return 1.0
        factor = params.scaling_factor
        return _growth(factor, params.mscale) / _growth(factor, params.mscale_all_dim)

    @property
    def score_factor(self) -> float:
        """What the factor of attention scores is multiplied by: `g(mscale_all_dim)^2`."""
        params = self.scaling_params
        return 1.0 if params is None else _growth(params.scaling_factor, params.mscale_all_dim) ** 2
