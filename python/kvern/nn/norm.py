# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization of the last axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded, only_device
from kvern.nn.layer import Module

__all__ = ["LayerNorm", "RMSNorm"]


class RMSNorm(Unsharded, Module):
    """Divides by the root mean square: `x / sqrt(mean(x^2) + eps) * (w + weight_offset)`.

    The statistics are computed in float32 (in float64 for float64). Gemma uses an offset of 1; Llama casts
    before it multiplies.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.

    Attributes:
        weight: `[dim]`.
    """

    weight: Weight

    def __init__(
        self,
        dim: int,
        dtype: DType,
        eps: float = 1e-6,
        weight_offset: float = 0.0,
        multiply_before_cast: bool = True,
    ) -> None:
        """Declares the weight.

        Args:
            dim: Size of the last axis.
            dtype: Element type of the weight.
            eps: What is added to the mean of the squares.
            weight_offset: What is added to the weight.
            multiply_before_cast: Whether the weight is multiplied before the result gets the type of the input.
        """
        super().__init__()
        self.weight = Weight("weight", dtype, [dim], DeviceRef.CPU())
        self.eps = eps
        self.weight_offset = weight_offset
        self.multiply_before_cast = multiply_before_cast

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the normalized tensor, of the shape and type of x.

        Args:
            x: `[..., dim]`, floating.

        Raises:
            ValueError: The last axis is not dim.
            TypeError: x is not floating.
        """
        x = TensorValue(x)
        dtype = _compute_dtype(x, self.weight) if self.multiply_before_cast else x.dtype
        weight = self.weight.to(x.device).cast(dtype)
        normalized = ops.rms_norm(
            x.cast(dtype), weight, self.eps, self.weight_offset, self.multiply_before_cast
        )
        return normalized.cast(x.dtype)


class LayerNorm(Unsharded, Module):
    """Normalizes mean and variance: `(x - mean(x)) / sqrt(var(x) + eps) * w + b`.

    The statistics are computed in float32 (in float64 for float64).

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.

    Attributes:
        weight: `[dims]`.
        bias: `[dims]`, or None.
    """

    weight: Weight
    bias: Weight | None

    def __init__(
        self,
        dims: int,
        devices: Sequence[DeviceRef],
        dtype: DType,
        eps: float = 1e-5,
        use_bias: bool = True,
    ) -> None:
        """Declares the weights.

        Args:
            dims: Size of the last axis.
            devices: The one device to compute on.
            dtype: Element type of the weights.
            eps: What is added to the variance.
            use_bias: Whether there is a bias.

        Raises:
            NotImplementedError: There are several devices.
        """
        super().__init__()
        cpu = DeviceRef.CPU()
        self.device = only_device("LayerNorm", devices)
        self.weight = Weight("weight", dtype, [dims], cpu)
        self.bias = Weight("bias", dtype, [dims], cpu) if use_bias else None
        self.eps = eps

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the normalized tensor, of the shape and type of x.

        Args:
            x: `[..., dims]`, floating.

        Raises:
            ValueError: The last axis is not dims.
            TypeError: x is not floating.
        """
        x = TensorValue(x)
        dtype = _compute_dtype(x, self.weight)
        gamma = self.weight.to(self.device).cast(dtype)
        if self.bias is None:
            beta = ops.constant(np.zeros(gamma.shape.static_dims), dtype, self.device)
        else:
            beta = self.bias.to(self.device).cast(dtype)
        return ops.layer_norm(x.cast(dtype), gamma, beta, self.eps).cast(x.dtype)


def _compute_dtype(x: TensorValue, weight: Weight) -> DType:
    """float32 where x is narrower than the weight, which then keeps its precision; else the type of x."""
    mixed = x.dtype.is_half() and weight.dtype is not x.dtype
    return DType.float32 if mixed else x.dtype
