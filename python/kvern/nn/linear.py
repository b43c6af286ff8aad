# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear transformations."""

from __future__ import annotations

from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded, refuse_quantization, refuse_sharding
from kvern.nn.bounds import clamp
from kvern.nn.layer import Module

__all__ = ["Linear"]


class Linear(Unsharded, Module):
    """Applies `y = x W^T + b` to the last axis.

    Attributes:
        weight: `[out_dim, in_dim]`.
        bias: `[out_dim]`, or None.
        device: Where the layer computes; the weights come from the CPU.
    """

    weight: Weight
    bias: Weight | None

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        dtype: DType,
        device: DeviceRef,
        has_bias: bool = False,
        quantization_encoding: Any = None,
        quant_config: Any = None,
        name: str | None = None,
        clip_weight: float | None = None,
        is_sharding: bool = False,
    ) -> None:
        """Declares the weights.

        Args:
            in_dim: Size of the last axis of the input.
            out_dim: Size of the last axis of the output.
            dtype: Element type of the weights.
            device: Where to compute.
            has_bias: Whether there is a bias.
            quantization_encoding: Not supported.
            quant_config: Not supported.
            name: Prefix of the names that the weights have until a state dict names them: `<name>.weight`.
            clip_weight: Bound c of the weight, which is used as `min(max(W, -c), c)`.
            is_sharding: Not supported.

        Raises:
            NotImplementedError: An option is not supported.
        """
        super().__init__()
        refuse_quantization(
            "Linear", quantization_encoding=quantization_encoding, quant_config=quant_config
        )
        refuse_sharding("Linear", is_sharding)
        prefix = f"{name}." if name else ""
        cpu = DeviceRef.CPU()
        self.device = device
        self.clip_weight = clip_weight
        self.weight = Weight(f"{prefix}weight", dtype, [out_dim, in_dim], cpu)
        self.bias = Weight(f"{prefix}bias", dtype, [out_dim], cpu) if has_bias else None

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the transformed tensor.

        Args:
            x: `[..., in_dim]`.

        Returns:
            `[..., out_dim]`, of the common element type of x and the weights.

        Raises:
            ValueError: The last axis is not in_dim, or the element types have no common one.
        """
        weight = self.weight.to(self.device)
        if self.clip_weight is not None:
            weight = clamp(weight, -self.clip_weight, self.clip_weight)
        y = ops.matmul(x, weight.T)
        return y if self.bias is None else y + self.bias.to(self.device)
