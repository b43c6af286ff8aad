# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formats of quantized weights, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["BlockParameters", "QuantizationConfig", "QuantizationEncoding"]


@dataclass(frozen=True)
class BlockParameters:
    """The size of a block of a block-quantized format.

    Attributes:
        elements_per_block: Elements that a block encodes.
        block_size: Bytes of a block.
    """

    elements_per_block: int
    block_size: int


@dataclass(frozen=True)
class QuantizationConfig:
    """Parameters of a group-wise format such as GPTQ.

    Attributes:
        quant_method: The method's name.
        bits: Bits of an element.
        group_size: Elements that share a scale.
        desc_act: Whether the columns are permuted by activation order.
        sym: Whether there are no zero points.
    """

    quant_method: str
    bits: int
    group_size: int
    desc_act: bool = False
    sym: bool = False


class QuantizationEncoding(str, enum.Enum):
    """A format of quantized weights; the block formats are those of GGML."""

    Q4_0 = "Q4_0"
    Q4_K = "Q4_K"
    Q5_K = "Q5_K"
    Q6_K = "Q6_K"
    GPTQ = "GPTQ"

    @property
    def is_gguf(self) -> bool:
        """Whether GGUF files hold it."""
        return self is not QuantizationEncoding.GPTQ

    @property
    def block_parameters(self) -> BlockParameters:
        """The size of a block.

        Raises:
            ValueError: The format has no blocks.
        """
        found = _BLOCKS.get(self)
        if found is None:
            raise ValueError(
                f"{self.value} has no blocks; its parameters are in QuantizationConfig"
            )
        return found

    @property
    def elements_per_block(self) -> int:
        """Elements that a block encodes."""
        return self.block_parameters.elements_per_block

    @property
    def block_size(self) -> int:
        """Bytes of a block."""
        return self.block_parameters.block_size


_BLOCKS = {
    QuantizationEncoding.Q4_0: BlockParameters(32, 18),
    QuantizationEncoding.Q4_K: BlockParameters(256, 144),
    QuantizationEncoding.Q5_K: BlockParameters(256, 176),
    QuantizationEncoding.Q6_K: BlockParameters(256, 210),
}
