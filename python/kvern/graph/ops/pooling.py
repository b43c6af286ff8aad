# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that move over images `[n, height, width, channels]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvern.graph._convert import to_tensor
from kvern.graph._staging import stage_tensor
from kvern.graph.ops.convolution import to_ints

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["avg_pool2d", "max_pool2d"]


def max_pool2d(
    input: TensorValueLike,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
) -> TensorValue:
    """Returns the largest element of each window; NaN if one is.

    Along each spatial axis the result has `(size + before + after - dilation * (k - 1) - 1) / stride + 1`
    elements, rounded down, or up with `ceil_mode`; but no window starts behind the input.

    Args:
        input: A tensor of numbers `[n, height, width, channels]`.
        kernel_size: Elements of the window: one number, or (height, width).
        stride: Elements from one window to the next.
        dilation: Elements from one place within the window to the next.
        padding: Elements (top, bottom, left, right) around the input that do not count: one number, (height,
            width), or four; each less than the window is long.
        ceil_mode: Whether a last window counts that is not whole.

    Raises:
        TypeError: The input is bool.
        ValueError: The input has another rank, or an argument is out of its range.
    """
    return _pool("max_pool2d", input, kernel_size, stride, dilation, padding, ceil_mode)


def avg_pool2d(
    input: TensorValueLike,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_boundary: bool = True,
) -> TensorValue:
    """Returns the mean of each window; see `max_pool2d`.

    Args:
        input: A float tensor `[n, height, width, channels]`.
        kernel_size: Elements of the window: one number, or (height, width).
        stride: Elements from one window to the next.
        dilation: Elements from one place within the window to the next.
        padding: Zeros (top, bottom, left, right) around the input: one number, (height, width), or four; each
            less than the window is long.
        ceil_mode: Whether a last window counts that is not whole.
        count_boundary: Whether the padding counts as elements.

    Raises:
        TypeError: The input is not float.
        ValueError: The input has another rank, or an argument is out of its range.
    """
    return _pool(
        "avg_pool2d",
        input,
        kernel_size,
        stride,
        dilation,
        padding,
        ceil_mode,
        count_boundary=bool(count_boundary),
    )


def _pool(
    op: str,
    input: TensorValueLike,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    ceil_mode: bool,
    **attributes: Any,
) -> TensorValue:
    return stage_tensor(
        op,
        to_tensor(op, input),
        kernel_size=to_ints(op, "kernel_size", kernel_size, 2),
        strides=to_ints(op, "stride", stride, 2),
        dilations=to_ints(op, "dilation", dilation, 2),
        paddings=_paddings(op, padding),
        ceil_mode=bool(ceil_mode),
        **attributes,
    )


def _paddings(op: str, padding: int | Sequence[int]) -> list[int]:
    if isinstance(padding, Sequence) and len(padding) == 2:
        height, width = to_ints(op, "padding", padding, 2)
        return [height, height, width, width]
    return to_ints(op, "padding", padding, 4)
