# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization over the last axis, computed in float32 (float64 for float64)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.graph._convert import to_float, to_tensor
from kvern.graph._staging import stage_tensor

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["layer_norm", "rms_norm"]


def layer_norm(
    input: TensorValueLike,
    gamma: TensorValueLike,
    beta: TensorValueLike | None,
    epsilon: float,
) -> TensorValue:
    """Returns `(x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta` (Ba et al., 2016).

    The variance is the biased one.

    Args:
        input: A float tensor `[..., n]`.
        gamma: The scale, `[n]`.
        beta: The shift, `[n]`; None for no shift.
        epsilon: Added to the variance.

    Raises:
        TypeError: A tensor is not float, or the element types differ.
        ValueError: gamma or beta is not `[n]`, or the devices differ.
    """
    name = "layer_norm"
    operands = [to_tensor(name, input), to_tensor(name, gamma)]
    shift = None if beta is None else to_tensor(name, beta)
    return stage_tensor(name, *operands, beta=shift, epsilon=to_float(name, "epsilon", epsilon))


def rms_norm(
    input: TensorValueLike,
    weight: TensorValueLike,
    epsilon: float,
    weight_offset: float = 0.0,
    multiply_before_cast: bool = False,
) -> TensorValue:
    """Returns `r * (weight + weight_offset)`, `r = x / sqrt(mean(x^2) + epsilon)` (Zhang and Sennrich, 2019).

    Args:
        input: A float tensor `[..., n]`.
        weight: The scale, `[n]`.
        epsilon: Added to the mean of the squares.
        weight_offset: Added to the scale.
        multiply_before_cast: Whether r is rounded to the element type after the multiplication, not before.

    Raises:
        TypeError: A tensor is not float, or the element types differ.
        ValueError: weight is not `[n]`, or the devices differ.
    """
    name = "rms_norm"
    return stage_tensor(
        name,
        to_tensor(name, input),
        to_tensor(name, weight),
        epsilon=to_float(name, "epsilon", epsilon),
        weight_offset=to_float(name, "weight_offset", weight_offset),
        multiply_before_cast=bool(multiply_before_cast),
    )
