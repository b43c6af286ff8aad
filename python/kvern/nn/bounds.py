# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds of values."""

from __future__ import annotations

from kvern.graph import TensorValue, TensorValueLike, ops

__all__ = ["clamp"]


def clamp(
    x: TensorValueLike, min: TensorValueLike | None = None, max: TensorValueLike | None = None
) -> TensorValue:
    """Returns `min(max(x, lower), upper)`: the upper bound wins when the bounds cross.

    Args:
        x: A tensor of numbers.
        min: The lower bound, a number or a tensor that broadcasts with x; None for no bound.
        max: The upper bound, likewise.

    Raises:
        ValueError: The shapes do not broadcast, or the element types have no common one.
    """
    y = TensorValue(x)
    y = y if min is None else ops.max(y, min)
    return y if max is None else ops.min(y, max)
