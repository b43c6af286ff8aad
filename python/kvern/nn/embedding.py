# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lookup tables."""

from __future__ import annotations

from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded
from kvern.nn._quantization import quantized_weight
from kvern.nn.layer import Module

__all__ = ["Embedding"]


class Embedding(Unsharded, Module):
    """Looks up a vector for each index: `y[..., :] = W[indices[...], :]`.

    Attributes:
        weight: `[vocab_size, hidden_dim]`; with a quantization encoding, the blocks: uint8
            `[vocab_size, hidden_dim / elements_per_block * block_size]`.
        device: Where the layer computes; the weight comes from the CPU.
    """

    weight: Weight

    def __init__(
        self,
        vocab_size: int,
        hidden_dim: int,
        dtype: DType,
        device: DeviceRef,
        quantization_encoding: Any = None,
        name: str | None = None,
    ) -> None:
        """Declares the table.

        Args:
            vocab_size: Number of vectors.
            hidden_dim: Size of a vector.
            dtype: Element type of the vectors; float32 in place of uint8.
            device: Where to compute.
            quantization_encoding: How the weight is stored, when it is quantized: Q8_0, Q4_0, Q4_1, Q4_K or Q6_K.
            name: Prefix of the name that the weight has until a state dict names it: `<name>.weight`.

        Raises:
            NotImplementedError: An option is not supported.
            ValueError: hidden_dim does not fill the blocks of the encoding.
        """
        super().__init__()
        weight_name = f"{name}.weight" if name else "weight"
        self.device = device
        self.dtype = DType.float32 if dtype is DType.uint8 else dtype
        if quantization_encoding is None:
            self.weight = Weight(weight_name, dtype, [vocab_size, hidden_dim], DeviceRef.CPU())
        else:
            self.weight = quantized_weight(
                "Embedding",
                weight_name,
                quantization_encoding,
                None,
                vocab_size,
                hidden_dim,
                numbers=True,
            )

    def __call__(self, indices: TensorValueLike) -> TensorValue:
        """Returns the vectors.

        Args:
            indices: Integers `[...]`, of any rank; those below 0 count from the end.

        Returns:
            `[..., hidden_dim]`.

        Raises:
            TypeError: The indices are no integers.
        """
        rows = ops.gather(self.weight.to(self.device), indices, axis=0)
        encoding = self.weight.quantization_encoding
        return rows if encoding is None else ops.dequantize(encoding, rows).cast(self.dtype)
