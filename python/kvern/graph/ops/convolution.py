# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, and padding. float16 and bfloat16 accumulate in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvern.errors import DTypeError, ShapeError
from kvern.graph._convert import promote, to_int, to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.type import ConvInputLayout, FilterLayout

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["conv2d", "conv2d_transpose", "conv3d", "pad", "to_ints"]

# What a layout of images is called for volumes.
_VOLUMES = {"NHWC": "NDHWC", "NCHW": "NCDHW"}


def conv2d(
    x: TensorValueLike,
    filter: TensorValueLike,
    stride: int | Sequence[int] = (1, 1),
    dilation: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0),
    groups: int = 1,
    bias: TensorValueLike | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.RSCF,
) -> TensorValue:
    """Returns the convolution (cross-correlation) of images with filters.

    `result[n, y, x, f] = bias[f] + sum over r, s, c of padded[n, y * stride + r * dilation,
    x * stride + s * dilation, c] * filter[r, s, c, f]`. Along each spatial axis the result has
    `(size + before + after - dilation * (k - 1) - 1) // stride + 1` elements.

    Args:
        x: `[n, height, width, channels]`, or `[n, channels, height, width]` with NCHW.
        filter: `[r, s, channels / groups, filters]`, or `[filters, channels / groups, r, s]` with FCRS; r and s
            are static.
        stride: Elements from one place of the filter to the next: one number, or one for each axis.
        dilation: Elements from one place within the filter to the next.
        padding: Zeros (top, bottom, left, right); one number for all four.
        groups: Parts into which channels and filters are divided; each part of the filters sees one part of the
            channels.
        bias: `[filters]`; None for zeros.
        input_layout: Order of the axes of x and of the result.
        filter_layout: Order of the axes of the filter.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: The shapes do not agree, or an argument is out of its range.
    """
    return _convolve(
        "conv2d", 2, x, filter, stride, dilation, padding, groups, bias, input_layout, filter_layout
    )


def conv3d(
    x: TensorValueLike,
    filter: TensorValueLike,
    stride: int | Sequence[int] = (1, 1, 1),
    dilation: int | Sequence[int] = (1, 1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0, 0, 0),
    groups: int = 1,
    bias: TensorValueLike | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.QRSCF,
) -> TensorValue:
    """Returns the convolution of volumes with filters; see `conv2d`.

    Args:
        x: `[n, depth, height, width, channels]`, or `[n, channels, depth, height, width]` with NCHW.
        filter: `[q, r, s, channels / groups, filters]`, or `[filters, channels / groups, q, r, s]` with FCQRS.
        stride: Elements from one place of the filter to the next: one number, or one for each axis.
        dilation: Elements from one place within the filter to the next.
        padding: Zeros (front, back, top, bottom, left, right); one number for all six.
        groups: Parts into which channels and filters are divided.
        bias: `[filters]`; None for zeros.
        input_layout: Order of the axes of x and of the result.
        filter_layout: Order of the axes of the filter.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: The shapes do not agree, or an argument is out of its range.
    """
    return _convolve(
        "conv3d", 3, x, filter, stride, dilation, padding, groups, bias, input_layout, filter_layout
    )


def conv2d_transpose(
    x: TensorValueLike,
    filter: TensorValueLike,
    stride: int | Sequence[int] = (1, 1),
    dilation: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0),
    output_paddings: int | Sequence[int] = (0, 0),
    bias: TensorValueLike | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.RSCF,
) -> TensorValue:
    """Returns the transposed convolution: the gradient of `conv2d` with respect to its input.

    Along each spatial axis the result has `(size - 1) * stride - before - after + dilation * (k - 1) +
    output_padding + 1` elements.

    Args:
        x: `[n, height, width, channels]`, or `[n, channels, height, width]` with NCHW.
        filter: `[r, s, channels of the result, channels]`, or `[channels, channels of the result, r, s]` with
            FCRS; r and s are static.
        stride: Elements of the result from one element of x to the next.
        dilation: Elements from one place within the filter to the next.
        padding: What is cut off of the result (top, bottom, left, right); one number for all four.
        output_paddings: What is added to the result (bottom, right), less than stride or dilation.
        bias: `[channels of the result]`; None for zeros.
        input_layout: Order of the axes of x and of the result.
        filter_layout: Order of the axes of the filter.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: The shapes do not agree, or an argument is out of its range.
    """
    name = "conv2d_transpose"
    operands = promote(name, x, filter, *([] if bias is None else [bias]))
    return stage_tensor(
        name,
        *operands[:2],
        bias=operands[2] if len(operands) > 2 else None,
        strides=to_ints(name, "stride", stride, 2),
        dilations=to_ints(name, "dilation", dilation, 2),
        paddings=to_ints(name, "padding", padding, 4),
        output_paddings=to_ints(name, "output_paddings", output_paddings, 2),
        input_layout=_layout(name, ConvInputLayout, input_layout),
        filter_layout=_layout(name, FilterLayout, filter_layout),
    )


def pad(
    input: TensorValueLike,
    paddings: Sequence[int],
    mode: str = "constant",
    value: TensorValueLike = 0,
) -> TensorValue:
    """Adds elements around a tensor.

    Args:
        input: A tensor.
        paddings: Elements to add (before axis 0, after axis 0, before axis 1, ...), 0 or more each.
        mode: "constant" for `value`, "reflect" for the elements mirrored at the first and last one of an axis,
            "edge" for the nearest element.
        value: A scalar, for mode "constant".

    Raises:
        TypeError: The value does not have the element type of the tensor, and is no number.
        ValueError: The paddings or the mode are not such, or an axis has too few elements to mirror.
    """
    tensor = to_tensor("pad", input)
    fill = None
    if mode == "constant":
        _, fill = promote("pad", tensor, value)
        if fill.dtype is not tensor.dtype:
            raise located(
                DTypeError, "pad", f"expected a value of {tensor.dtype}, but got {fill.dtype}"
            )
    return stage_tensor(
        "pad",
        tensor,
        value=fill,
        paddings=[to_int("pad", "paddings", entry) for entry in paddings],
        mode=str(mode),
    )


def to_ints(op: str, name: str, value: int | Sequence[int], count: int) -> list[int]:
    """Returns an argument that must be `count` ints, or one that stands for all.

    Raises:
        TypeError: It is something else.
        ValueError: There are more or less.
    """
    if not isinstance(value, Sequence):
        return [to_int(op, name, value)] * count
    if len(value) != count:
        raise located(
            ShapeError, op, f"expected {count} elements as {name}, but got {list(value)!r}"
        )
    return [to_int(op, name, entry) for entry in value]


def _layout(op: str, kind: type[ConvInputLayout] | type[FilterLayout], layout: Any) -> str:
    try:
        return kind(layout).value
    except ValueError:
        known = ", ".join(kind.__members__)
        raise located(ShapeError, op, f"expected a layout of {known}, but got {layout!r}") from None


def _convolve(
    name: str,
    rank: int,
    x: TensorValueLike,
    filter: TensorValueLike,
    stride: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    groups: int,
    bias: TensorValueLike | None,
    input_layout: ConvInputLayout,
    filter_layout: FilterLayout,
) -> TensorValue:
    operands = promote(name, x, filter, *([] if bias is None else [bias]))
    layout = _layout(name, ConvInputLayout, input_layout)
    return stage_tensor(
        name,
        *operands[:2],
        bias=operands[2] if len(operands) > 2 else None,
        strides=to_ints(name, "stride", stride, rank),
        dilations=to_ints(name, "dilation", dilation, rank),
        paddings=to_ints(name, "padding", padding, 2 * rank),
        groups=to_int(name, "groups", groups),
        input_layout=layout if rank == 2 else _VOLUMES[layout],
        filter_layout=_layout(name, FilterLayout, filter_layout),
    )
