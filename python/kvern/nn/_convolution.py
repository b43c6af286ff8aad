# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the convolution layers have in common: weights in one of two layouts."""

from __future__ import annotations

from collections.abc import Sequence

from kvern.dtype import DType
from kvern.graph import ConvInputLayout, DeviceRef, FilterLayout, TensorValue, Weight
from kvern.nn._placement import Unsharded
from kvern.nn.layer import Module

__all__ = ["Convolution", "Size", "both_sides", "each_axis", "filter_shape"]

Size = int | Sequence[int]


class Convolution(Unsharded, Module):
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


def filter_shape(kernel: Sequence[int], inner: int, outer: int, permute: bool) -> list[int]:
    return [outer, inner, *kernel] if permute else [*kernel, inner, outer]


def each_axis(value: Size, count: int) -> list[int]:
    """One number an axis."""
    return [value] * count if isinstance(value, int) else list(value)


def both_sides(value: Size, count: int) -> list[int]:
    """Two numbers an axis, from one, one an axis, or two an axis."""
    sides = each_axis(value, count)
    return [side for side in sides for _ in range(2)] if len(sides) == count else sides
