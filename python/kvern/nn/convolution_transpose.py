# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions; the layouts are those of `kvern.nn.convolution`."""

from __future__ import annotations

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._convolution import Convolution, Size, each_axis, filter_shape

__all__ = ["ConvTranspose1d", "WeightNormConvTranspose1d"]


class ConvTranspose1d(Convolution):
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
        shape = filter_shape([length], out_channels, in_channels, permute)
        super().__init__(shape, out_channels, dtype, device, has_bias, permute, name)
        self.stride, self.dilation, self.output_padding = stride, dilation, output_padding
        self.padding = each_axis(padding, 2)

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
