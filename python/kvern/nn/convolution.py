# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions.

Channels come last, `[n, ..., channels]`, and filters are stored as `[..., channels, filters]`. With `permute` both
are as in PyTorch, `[n, channels, ...]` and `[filters, channels, ...]`, so that its checkpoints load as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvern.dtype import DType
from kvern.graph import (
    ConvInputLayout,
    DeviceRef,
    FilterLayout,
    TensorValue,
    TensorValueLike,
    Weight,
    ops,
)
from kvern.nn._placement import Unsharded
from kvern.nn.layer import Module

__all__ = ["Conv1D", "Conv2d", "Conv3D", "ConvTranspose1d", "WeightNormConvTranspose1d"]

Size = int | Sequence[int]


class _Convolution(Unsharded, Module):
    """What the layers here have in common: weights in one of two layouts."""

    bias: Weight | None
    _weight_name = "weight"

    def __init__(
        self,
        shape: Sequence[int],
        channels: int,
        dtype: DType,
        device: DeviceRef | None,
        has_bias: bool,
        permute: bool,
        name: str | None,
    ) -> None:
        """Declares the weights.

        Args:
            shape: Of the weight.
            channels: Of the result.
            dtype: Element type of the weights.
            device: Where to compute; the CPU by default.
            has_bias: Whether there is a bias.
            permute: Whether channels come first.
            name: Prefix of the weights' names.
        """
        super().__init__()
        self._prefix = f"{name}." if name else ""
        self.device = device or DeviceRef.CPU()
        self.permute = permute
        setattr(self, self._weight_name, self._declare(self._weight_name, dtype, shape))
        self.bias = self._declare("bias", dtype, [channels]) if has_bias else None

    def _declare(self, name: str, dtype: DType, shape: Sequence[int]) -> Weight:
        return Weight(f"{self._prefix}{name}", dtype, list(shape), DeviceRef.CPU())

    def _bias(self) -> TensorValue | None:
        return None if self.bias is None else self.bias.to(self.device)

    @property
    def _input_layout(self) -> ConvInputLayout:
        return ConvInputLayout.NCHW if self.permute else ConvInputLayout.NHWC

    @property
    def _filter_layout(self) -> FilterLayout:
        return FilterLayout.FCRS if self.permute else FilterLayout.RSCF


def _filter_shape(kernel: Sequence[int], inner: int, outer: int, permute: bool) -> list[int]:
    return [outer, inner, *kernel] if permute else [*kernel, inner, outer]


def _each(value: Size, count: int) -> list[int]:
    """One number an axis."""
    return [value] * count if isinstance(value, int) else list(value)


def _paddings(value: Size, count: int) -> list[int]:
    """Two numbers an axis, from one, one an axis, or two an axis."""
    sides = _each(value, count)
    return [side for side in sides for _ in range(2)] if len(sides) == count else sides


class Conv1D(_Convolution):
    """Convolution over one axis: `[n, length, channels]`, or `[n, channels, length]` with `permute`.

    The length of the result is `(length + before + after - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Attributes:
        weight: `[kernel_size, in_channels / num_groups, out_channels]`; with `permute` `[out_channels,
            in_channels / num_groups, kernel_size]`.
        bias: `[out_channels]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight: Weight

    def __init__(
        self,
        kernel_size: int,
        in_channels: int,
        out_channels: int,
        dtype: DType,
        stride: int = 1,
        padding: Size = 0,
        dilation: int = 1,
        num_groups: int = 1,
        device: DeviceRef | None = None,
        has_bias: bool = False,
        permute: bool = False,
        name: str | None = None,
    ) -> None:
        """Declares the weights.

        Args:
            kernel_size: Length of the filters.
            in_channels: Channels of the input.
            out_channels: Channels of the result.
            dtype: Element type of the weights.
            stride: Elements from one place of the filters to the next.
            padding: Zeros on both sides, or (before, after).
            dilation: Elements from one place within the filters to the next.
            num_groups: Parts into which the channels are divided.
            device: Where to compute; the CPU by default.
            has_bias: Whether there is a bias.
            permute: Whether channels come first, as in PyTorch.
            name: Prefix of the names that the weights have until a state dict names them.
        """
        shape = _filter_shape([kernel_size], in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = _each(padding, 2)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the convolution of x.

        Args:
            x: `[n, length, in_channels]`, or `[n, in_channels, length]` with `permute`.

        Raises:
            ValueError: x has another shape, or the element types have no common one.
        """
        # An image of height 1.
        axis = 2 if self.permute else 1
        y = ops.conv2d(
            ops.unsqueeze(x, axis),
            ops.unsqueeze(self.weight.to(self.device), 2 if self.permute else 0),
            (1, self.stride),
            (1, self.dilation),
            (0, 0, *self.padding),
            self.num_groups,
            self._bias(),
            self._input_layout,
            self._filter_layout,
        )
        return ops.squeeze(y, axis)


class Conv2d(_Convolution):
    """Convolution over two axes: `[n, height, width, channels]`, or `[n, channels, height, width]` with `permute`.

    Attributes:
        weight: `[height, width, in_channels / num_groups, out_channels]`; with `permute` `[out_channels,
            in_channels / num_groups, height, width]`.
        bias: `[out_channels]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight: Weight

    def __init__(
        self,
        kernel_size: Size,
        in_channels: int,
        out_channels: int,
        dtype: DType,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        num_groups: int = 1,
        device: DeviceRef | None = None,
        has_bias: bool = False,
        permute: bool = False,
        name: str | None = None,
    ) -> None:
        """Declares the weights.

        Args:
            kernel_size: Size of the filters, or (height, width).
            in_channels: Channels of the input.
            out_channels: Channels of the result.
            dtype: Element type of the weights.
            stride: Elements from one place of the filters to the next, or (height, width).
            padding: Zeros on all sides, (height, width), or (top, bottom, left, right).
            dilation: Elements from one place within the filters to the next, or (height, width).
            num_groups: Parts into which the channels are divided.
            device: Where to compute; the CPU by default.
            has_bias: Whether there is a bias.
            permute: Whether channels come first, as in PyTorch.
            name: Prefix of the names that the weights have until a state dict names them.
        """
        kernel = _each(kernel_size, 2)
        shape = _filter_shape(kernel, in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = _paddings(padding, 2)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the convolution of x.

        Args:
            x: `[n, height, width, in_channels]`, or `[n, in_channels, height, width]` with `permute`.

        Raises:
            ValueError: x has another shape, or the element types have no common one.
        """
        return ops.conv2d(
            x,
            self.weight.to(self.device),
            self.stride,
            self.dilation,
            self.padding,
            self.num_groups,
            self._bias(),
            self._input_layout,
            self._filter_layout,
        )


class Conv3D(_Convolution):
    """Convolution over three axes: `[n, depth, height, width, channels]`, or channels after n with `permute`.

    Attributes:
        weight: `[depth, height, width, in_channels / num_groups, out_channels]`; with `permute` `[out_channels,
            in_channels / num_groups, depth, height, width]`.
        bias: `[out_channels]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight: Weight

    def __init__(
        self,
        depth: int,
        height: int,
        width: int,
        in_channels: int,
        out_channels: int,
        dtype: DType,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        num_groups: int = 1,
        device: DeviceRef | None = None,
        has_bias: bool = False,
        permute: bool = False,
        name: str | None = None,
    ) -> None:
        """Declares the weights.

        Args:
            depth: Depth of the filters.
            height: Height of the filters.
            width: Width of the filters.
            in_channels: Channels of the input.
            out_channels: Channels of the result.
            dtype: Element type of the weights.
            stride: Elements from one place of the filters to the next, or (depth, height, width).
            padding: Zeros on all sides, (depth, height, width), or (front, back, top, bottom, left, right).
            dilation: Elements from one place within the filters to the next, or (depth, height, width).
            num_groups: Parts into which the channels are divided.
            device: Where to compute; the CPU by default.
            has_bias: Whether there is a bias.
            permute: Whether channels come first, as in PyTorch.
            name: Prefix of the names that the weights have until a state dict names them.
        """
        kernel = [depth, height, width]
        shape = _filter_shape(kernel, in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = _paddings(padding, 3)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the convolution of x.

        Args:
            x: `[n, depth, height, width, in_channels]`, or `[n, in_channels, depth, height, width]` with
                `permute`.

        Raises:
            ValueError: x has another shape, or the element types have no common one.
        """
        return ops.conv3d(
            x,
            self.weight.to(self.device),
            self.stride,
            self.dilation,
            self.padding,
            self.num_groups,
            self._bias(),
            self._input_layout,
            FilterLayout.FCQRS if self.permute else FilterLayout.QRSCF,
        )


class ConvTranspose1d(_Convolution):
    """Transposed convolution over one axis: `[n, length, channels]`, or `[n, channels, length]` with `permute`.

    The length of the result is `(length - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1`,
    where k is the length of the filters.

    Attributes:
        weight: `[k, out_channels, in_channels]`; with `permute` `[in_channels, out_channels, k]`.
        bias: `[out_channels]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight: Weight

    def __init__(
        self,
        length: int,
        in_channels: int,
        out_channels: int,
        dtype: DType,
        stride: int = 1,
        padding: Size = 0,
        dilation: int = 1,
        output_padding: int = 0,
        device: DeviceRef | None = None,
        has_bias: bool = False,
        permute: bool = False,
        name: str | None = None,
    ) -> None:
        """Declares the weights.

        Args:
            length: Length of the filters.
            in_channels: Channels of the input.
            out_channels: Channels of the result.
            dtype: Element type of the weights.
            stride: Elements of the result from one element of the input to the next.
            padding: What is cut off on both sides of the result, or (before, after).
            dilation: Elements from one place within the filters to the next.
            output_padding: What is added at the end of the result.
            device: Where to compute; the CPU by default.
            has_bias: Whether there is a bias.
            permute: Whether channels come first, as in PyTorch.
            name: Prefix of the names that the weights have until a state dict names them.
        """
        # A filter has the channels of the input: they come first in PyTorch.
        shape = _filter_shape([length], out_channels, in_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.output_padding = stride, dilation, output_padding
        self.padding = _each(padding, 2)

    def _filter(self) -> TensorValue:
        return self.weight.to(self.device)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the transposed convolution of x.

        Args:
            x: `[n, length, in_channels]`, or `[n, in_channels, length]` with `permute`.

        Raises:
            ValueError: x has another shape, or the element types have no common one.
        """
        axis = 2 if self.permute else 1
        y = ops.conv2d_transpose(
            ops.unsqueeze(x, axis),
            ops.unsqueeze(self._filter(), 2 if self.permute else 0),
            (1, self.stride),
            (1, self.dilation),
            (0, 0, *self.padding),
            (0, self.output_padding),
            self._bias(),
            self._input_layout,
            self._filter_layout,
        )
        return ops.squeeze(y, axis)


class WeightNormConvTranspose1d(ConvTranspose1d):
    """ConvTranspose1d with the weight `g * v / |v|`; the norm is over all axes but that of the input's channels.

    Source: Salimans and Kingma, "Weight Normalization", 2016.

    Attributes:
        weight_v: The direction, of the shape of the weight.
        weight_g: The length, `[in_channels, 1, 1]`.
        bias: `[out_channels]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight_v: Weight
    weight_g: Weight
    _weight_name = "weight_v"

    def __init__(
        self,
        length: int,
        in_channels: int,
        out_channels: int,
        dtype: DType,
        stride: int = 1,
        padding: Size = 0,
        dilation: int = 1,
        output_padding: int = 0,
        device: DeviceRef | None = None,
        has_bias: bool = False,
        permute: bool = False,
        name: str | None = None,
    ) -> None:
        """Declares the weights; see ConvTranspose1d."""
        super().__init__(
            length,
            in_channels,
            out_channels,
            dtype,
            stride,
            padding,
            dilation,
            output_padding,
            device,
            has_bias,
            permute,
            name,
        )
        self.weight_g = self._declare("weight_g", dtype, [in_channels, 1, 1])

    def _filter(self) -> TensorValue:
        v = self.weight_v.to(self.device)
        g = self.weight_g.to(self.device)
        squares = v * v
        for axis in (1, 2) if self.permute else (0, 1):
            squares = ops.sum(squares, axis)
        if not self.permute:
            g = ops.permute(g, [1, 2, 0])
        return v * (g * ops.rsqrt(squares))
