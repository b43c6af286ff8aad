# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear transformations."""

from __future__ import annotations

from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded, refuse_quantization, refuse_sharding
from kvern.nn._quantization import quantized_weight
from kvern.nn.bounds import clamp
from kvern.nn.layer import Module

__all__ = ["Linear"]


class Linear(Unsharded, Module):
    """Applies `y = x W^T + b` to the last axis.

    Attributes:
        weight: `[out_dim, in_dim]`; with a quantization encoding, the blocks: uint8
            `[out_dim, in_dim / elements_per_block * block_size]`.
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
            dtype: Element type of the weights; of a quantized layer, that of the bias, float32 in place of uint8.
            device: Where to compute.
            has_bias: Whether there is a bias.
            quantization_encoding: How the weight is stored, when it is quantized: Q8_0, Q4_0, Q4_1 or GROUPED.
            quant_config: The `QuantizationConfig` of the encoding GROUPED; others are not supported.
            name: Prefix of the names that the weights have until a state dict names them: `<name>.weight`.
            clip_weight: Bound c of the weight, which is used as `min(max(W, -c), c)`.
            is_sharding: Not supported.

        Raises:
            NotImplementedError: An option is not supported.
            ValueError: in_dim does not fill the blocks of the encoding.
        """
        super().__init__()
        refuse_sharding("Linear", is_sharding)
        prefix = f"{name}." if name else ""
        cpu = DeviceRef.CPU()
        self.device = device
        self.clip_weight = clip_weight
        self.quant_config = quant_config
        if quantization_encoding is None:
            refuse_quantization("Linear", quant_config=quant_config)
            self.weight = Weight(f"{prefix}weight", dtype, [out_dim, in_dim], cpu)
        else:
            if clip_weight is not None:
                refuse_quantization("Linear with clip_weight", encoding=quantization_encoding)
            self.weight = quantized_weight(
                "Linear", f"{prefix}weight", quantization_encoding, quant_config, out_dim, in_dim
            )
            dtype = DType.float32 if dtype is DType.uint8 else dtype
        self.bias = Weight(f"{prefix}bias", dtype, [out_dim], cpu) if has_bias else None

    def _bounded_weight(self) -> TensorValue:
        """The weight where the layer computes, within the bound of `clip_weight`."""
        weight, bound = self.weight.to(self.device), self.clip_weight
        return weight if bound is None else clamp(weight, -bound, bound)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the transformed tensor.

        Args:
            x: `[..., in_dim]`.

        Returns:
            `[..., out_dim]`, of the common element type of x and the weights; that of x when they are quantized.

        Raises:
            ValueError: The last axis is not in_dim, or the element types have no common one.
        """
        weight = self._bounded_weight()
        encoding = self.weight.quantization_encoding
        if encoding is None:
            y = ops.matmul(x, weight.T)
        else:
            y = ops.qmatmul(encoding, self.quant_config, x, weight)
        return y if self.bias is None else y + self.bias.to(self.device)
