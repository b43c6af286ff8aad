# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions.

Channels come last, `[n, ..., channels]`, and filters are stored as `[..., channels, filters]`. With `permute` both
are as in PyTorch, `[n, channels, ...]` and `[filters, channels, ...]`, so that its checkpoints load as they are.
"""

from __future__ import annotations

from kvern.dtype import DType
from kvern.graph import DeviceRef, FilterLayout, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._convolution import Convolution, Size, both_sides, each_axis, filter_shape

__all__ = ["Conv1D", "Conv2d", "Conv3D"]


class Conv1D(Convolution):
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
        shape = filter_shape([kernel_size], in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = each_axis(padding, 2)

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


class Conv2d(Convolution):
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
        kernel = each_axis(kernel_size, 2)
        shape = filter_shape(kernel, in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = both_sides(padding, 2)

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


class Conv3D(Convolution):
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
        shape = filter_shape(kernel, in_channels // num_groups, out_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.num_groups = stride, dilation, num_groups
        self.padding = both_sides(padding, 3)

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
