# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lookup tables."""

from __future__ import annotations

from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight, ops
from kvern.nn._placement import Unsharded, refuse_quantization
from kvern.nn.layer import Module

__all__ = ["Embedding"]


class Embedding(Unsharded, Module):
    """Looks up a vector for each index: `y[..., :] = W[indices[...], :]`.

    Attributes:
        weight: `[vocab_size, hidden_dim]`.
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
            dtype: Element type of the vectors.
            device: Where to compute.
            quantization_encoding: Not supported.
            name: Prefix of the name that the weight has until a state dict names it: `<name>.weight`.

        Raises:
            NotImplementedError: An option is not supported.
        """
        super().__init__()
        refuse_quantization("Embedding", quantization_encoding=quantization_encoding)
        weight_name = f"{name}.weight" if name else "weight"
        self.device = device
        self.weight = Weight(weight_name, dtype, [vocab_size, hidden_dim], DeviceRef.CPU())

    def __call__(self, indices: TensorValueLike) -> TensorValue:
        """Returns the vectors.

        Args:
            indices: Integers `[...]`, of any rank; those below 0 count from the end.

        Returns:
            `[..., hidden_dim]`.

        Raises:
            TypeError: The indices are no integers.
        """
        return ops.gather(self.weight.to(self.device), indices, axis=0)
