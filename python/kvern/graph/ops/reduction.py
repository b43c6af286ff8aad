# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Along one axis, which stays with size 1. float16 and bfloat16 accumulate in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.errors import GraphError
from kvern.graph._convert import axis_of, promote, to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["argmax", "argmin", "logsoftmax", "max", "mean", "min", "prod", "softmax", "sum"]


def _reduce(name: str, x: TensorValueLike, axis: int, op: str | None = None) -> TensorValue:
    value = to_tensor(name, x)
    return stage_tensor(op or name, value, as_=name, axis=axis_of(name, axis, value.rank))


def _extremum(
    name: str, x: TensorValueLike, y: TensorValueLike | None, axis: int | None
) -> TensorValue:
    if y is None:
        return _reduce(name, x, -1 if axis is None else axis, f"reduce_{name}")
    if axis is not None:
        raise located(
            GraphError, name, f"expected a second tensor or an axis, but got both: axis {axis}"
        )
    return stage_tensor(name, *promote(name, x, y))


def argmax(x: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the index (int64) of the first largest element; NaN counts as largest.

    Args:
        x: A tensor of numbers.
        axis: The axis, which has size 1 in the result.

    Raises:
        TypeError: x is bool.
        ValueError: There is no such axis.
    """
    return _reduce("argmax", x, axis)


def argmin(x: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the index (int64) of the first smallest element; NaN counts as smallest.

    Args:
        x: A tensor of numbers.
        axis: The axis, which has size 1 in the result.

    Raises:
        TypeError: x is bool.
        ValueError: There is no such axis.
    """
    return _reduce("argmin", x, axis)


def max(
    x: TensorValueLike, y: TensorValueLike | None = None, /, axis: int | None = None
) -> TensorValue:
    """Returns the larger of x and y, elementwise; without y the largest element along an axis. NaN wins.

    Args:
        x: A tensor of numbers.
        y: A tensor of numbers or a number; broadcast and promoted with x.
        axis: Without y, the axis, which has size 1 in the result; the last one by default.

    Raises:
        TypeError: An element type is bool, or the two have no common one.
        ValueError: There is no such axis, both y and axis are given, or the shapes do not broadcast.
    """
    return _extremum("max", x, y, axis)


def mean(x: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the mean; NaN along an empty axis.

    Args:
        x: A float tensor.
        axis: The axis, which has size 1 in the result.

    Raises:
        TypeError: x is no float tensor.
        ValueError: There is no such axis.
    """
    return _reduce("mean", x, axis)


def min(
    x: TensorValueLike, y: TensorValueLike | None = None, /, axis: int | None = None
) -> TensorValue:
    """Returns the smaller of x and y, elementwise; without y the smallest element along an axis. NaN wins.

    Args:
        x: A tensor of numbers.
        y: A tensor of numbers or a number; broadcast and promoted with x.
        axis: Without y, the axis, which has size 1 in the result; the last one by default.

    Raises:
        TypeError: An element type is bool, or the two have no common one.
        ValueError: There is no such axis, both y and axis are given, or the shapes do not broadcast.
    """
    return _extremum("min", x, y, axis)


def prod(x: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the product; 1 along an empty axis.

    Args:
        x: A tensor of numbers.
        axis: The axis, which has size 1 in the result.

    Raises:
        TypeError: x is bool.
        ValueError: There is no such axis.
    """
    return _reduce("prod", x, axis)


def sum(x: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the sum; 0 along an empty axis.

    Args:
        x: A tensor of numbers.
        axis: The axis, which has size 1 in the result.

    Raises:
        TypeError: x is bool.
        ValueError: There is no such axis.
    """
    return _reduce("sum", x, axis)


def softmax(value: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns `exp(x - m) / sum(exp(x - m))`, where m is the maximum along the axis.

    Args:
        value: A float tensor.
        axis: The axis of the sum; the shape stays.

    Raises:
        TypeError: `value` is no float tensor.
        ValueError: There is no such axis.
    """
    return _reduce("softmax", value, axis)


def logsoftmax(value: TensorValueLike, axis: int = -1) -> TensorValue:
    """Returns the logarithm of softmax, `x - m - ln(sum(exp(x - m)))`, m the maximum along the axis.

    Args:
        value: A float tensor.
        axis: The axis of the sum; the shape stays.

    Raises:
        TypeError: `value` is no float tensor.
        ValueError: There is no such axis.
    """
    return _reduce("logsoftmax", value, axis)
