# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formats of quantized weights, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvern.errors import GraphError, UnsupportedError

__all__ = ["BlockParameters", "QuantizationConfig", "QuantizationEncoding", "grouped_blocks"]


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
        quant_method: The method's name; `"grouped"` for `QuantizationEncoding.GROUPED`.
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

    @property
    def block_parameters(self) -> BlockParameters:
        """The size of a block of `QuantizationEncoding.GROUPED`.

        Raises:
            ValueError: The elements have not 4 or 8 bits, the groups not 32, 64 or 128 elements, or the columns are
                permuted.
        """
        if self.bits not in (4, 8) or self.group_size not in (32, 64, 128) or self.desc_act:
            raise GraphError(
                "expected 4 or 8 bits, groups of 32, 64 or 128 and columns in order, but got "
                f"bits={self.bits}, group_size={self.group_size}, desc_act={self.desc_act}"
            )
        header = 2 if self.sym else 4
        return BlockParameters(self.group_size, header + self.group_size * self.bits // 8)


class QuantizationEncoding(str, enum.Enum):
    """A format of quantized weights.

    All but GPTQ and GROUPED are the block formats of GGML. GROUPED is the general form of Q8_0, Q4_0 and Q4_1, with
    the parameters in a `QuantizationConfig`: see `grouped_blocks`. Products have kernels for
    these four; `ops.dequantize` also reads Q4_K and Q6_K.
    """

    Q4_0 = "Q4_0"
    Q4_1 = "Q4_1"
    Q8_0 = "Q8_0"
    Q4_K = "Q4_K"
    Q5_K = "Q5_K"
    Q6_K = "Q6_K"
    GPTQ = "GPTQ"
    GROUPED = "GROUPED"

    @property
    def is_gguf(self) -> bool:
        """Whether GGUF files hold it."""
        return self not in (QuantizationEncoding.GPTQ, QuantizationEncoding.GROUPED)

    @property
    def block_parameters(self) -> BlockParameters:
        """The size of a block.

        Raises:
            ValueError: The format has no blocks, or their size is in a configuration.
        """
        found = _BLOCKS.get(self)
        if found is None:
            raise ValueError(
                f"{self.value} has no blocks of one size; its parameters are in QuantizationConfig"
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
    QuantizationEncoding.Q4_1: BlockParameters(32, 20),
    QuantizationEncoding.Q8_0: BlockParameters(32, 34),
    QuantizationEncoding.Q4_K: BlockParameters(256, 144),
    QuantizationEncoding.Q5_K: BlockParameters(256, 176),
    QuantizationEncoding.Q6_K: BlockParameters(256, 210),
}


# Encodings by their names in the dialect; GROUPED has one for each configuration. First those that products read.
_DIALECT_NAMES = {
    QuantizationEncoding.Q4_0: "q4_0",
    QuantizationEncoding.Q4_1: "q4_1",
    QuantizationEncoding.Q8_0: "q8_0",
}
_NUMBER_NAMES = {
    **_DIALECT_NAMES,
    QuantizationEncoding.Q4_K: "q4_k",
    QuantizationEncoding.Q6_K: "q6_k",
}


def dialect_encoding(
    encoding: Any, config: QuantizationConfig | None = None, *, numbers: bool = False
) -> str:
    """Returns the name that the dialect has for an encoding.

    Args:
        encoding: A `QuantizationEncoding`, or its value.
        config: The parameters of GROUPED.
        numbers: Whether the blocks are to become numbers, rather than to be multiplied.

    Raises:
        NotImplementedError: There is no kernel for the encoding.
        ValueError: The configuration is missing, or has values that there is no kernel for.
    """
    known = {member.value: member for member in QuantizationEncoding}.get(encoding)
    if known is QuantizationEncoding.GROUPED:
        if config is None:
            raise GraphError("expected a QuantizationConfig for GROUPED, but got None")
        _ = config.block_parameters
        return f"int{config.bits}_g{config.group_size}{'' if config.sym else '_min'}"
    names = _NUMBER_NAMES if numbers else _DIALECT_NAMES
    name = names.get(known) if known else None
    if name is None:
        available = ", ".join(each.value for each in [*names, QuantizationEncoding.GROUPED])
        what = known.value if known else repr(encoding)
        raise UnsupportedError(f"expected an encoding among {available}, but got {what}")
    return name


def grouped_blocks(
    config: QuantizationConfig,
    elements: np.ndarray[Any, Any],
    scales: np.ndarray[Any, Any],
    minima: np.ndarray[Any, Any] | None = None,
) -> np.ndarray[Any, Any]:
    """Returns the rows of blocks, `[n, bytes]` of uint8, of weights in the encoding GROUPED.

    With g the group of k, an element is `scales[n, g] * elements[n, k]`, and `+ minima[n, g]` unless
    `config.sym`. A block is its scale, its minimum if there is one, both as float16, and its elements: of 8 bits,
    signed if `config.sym`; of 4 bits, plus 8 if `config.sym`, the first half of the group in the low halves of the
    bytes and the second in the high ones. So Q8_0, Q4_0 and Q4_1 are stored.

    Args:
        config: Bits, group and symmetry.
        elements: Integers `[n, k]`: from -128 or -8 on if `config.sym`, else from 0 on.
        scales: `[n, k / group]`.
        minima: `[n, k / group]`; a zero point z is the minimum `-scale * z`.

    Raises:
        ValueError: The sizes or the range of the elements do not fit, or minima are missing or not wanted.
    """
    group = config.block_parameters.elements_per_block
    low = -(1 << (config.bits - 1)) if config.sym else 0
    high = low + (1 << config.bits) - 1
    elements = np.asarray(elements)
    if elements.ndim != 2 or elements.shape[1] % group:
        raise ValueError(
            f"expected elements [n, k] with k divisible by {group}, but got {elements.shape}"
        )
    if elements.size and (elements.min() < low or elements.max() > high):
        raise ValueError(
            f"expected elements from {low} to {high}, but got {elements.min()} to {elements.max()}"
        )
    if (minima is None) != config.sym:
        raise ValueError(
            f"expected minima exactly if the format is not symmetric, but got sym={config.sym} and "
            f"{'none' if minima is None else 'some'}"
        )
    groups = (elements.shape[0], elements.shape[1] // group)
    parts = []
    for name, numbers in (("scales", scales), ("minima", minima)):
        if numbers is None:
            continue
        if np.shape(numbers) != groups:
            raise ValueError(f"expected {name} {groups}, but got {np.shape(numbers)}")
        parts.append(np.ascontiguousarray(numbers, np.float16)[..., None].view(np.uint8))
    bits = elements.reshape(*groups, group).astype(np.int64)
    if config.bits == 4:
        bits = bits - low
        bits = bits[..., : group // 2] | bits[..., group // 2 :] << 4
    parts.append((bits & 255).astype(np.uint8))
    return np.concatenate(parts, axis=-1).reshape(groups[0], -1)
