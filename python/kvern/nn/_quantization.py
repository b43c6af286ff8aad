# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of layers in quantized form, and layers that have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kvern.dtype import DType
from kvern.errors import ShapeError, UnsupportedError
from kvern.graph import DeviceRef, Weight
from kvern.graph.quantization import QuantizationConfig, QuantizationEncoding, dialect_encoding

__all__ = ["quantized", "quantized_weight"]


def quantized(linear: Callable[..., Any], encoding: Any, config: Any) -> Callable[..., Any]:
    """Returns a maker of linear layers that gives them the encoding and its configuration, when there is one.

    Without an encoding it takes any class, also one that does not know of encodings.
    """
    if encoding is None:
        return linear
    return partial(linear, quantization_encoding=encoding, quant_config=config)


def quantized_weight(
    layer: str,
    name: str,
    encoding: Any,
    config: Any,
    rows: int,
    columns: int,
    *,
    numbers: bool = False,
) -> Weight:
    """Returns the weight, of uint8, that holds a matrix in blocks.

    Args:
        layer: The layer's name, for errors.
        name: The weight's name.
        encoding: A `QuantizationEncoding`, or its value.
        config: The `QuantizationConfig` of GROUPED; None for the others.
        rows: Rows of the matrix.
        columns: Elements of a row.
        numbers: Whether the layer makes numbers of the blocks, rather than to multiply them.

    Raises:
        NotImplementedError: There is no kernel for the encoding, or the configuration is of another kind.
        ValueError: The columns do not fill blocks.
    """
    if config is not None and not isinstance(config, QuantizationConfig):
        raise UnsupportedError(
            f"{layer} does not support quantized weights (quant_config={config!r})"
        )
    try:
        dialect_encoding(encoding, config, numbers=numbers)
    except UnsupportedError as error:
        raise UnsupportedError(f"{layer}: {error}") from None
    encoding = QuantizationEncoding(encoding)
    is_grouped = encoding is QuantizationEncoding.GROUPED
    block = (config if is_grouped and config else encoding).block_parameters
    if columns % block.elements_per_block:
        raise ShapeError(
            f"{layer}: expected a number of columns divisible by the {block.elements_per_block} elements of a block "
            f"of {encoding.value}, but got {columns}"
        )
    bytes_ = columns // block.elements_per_block * block.block_size
    return Weight(name, DType.uint8, [rows, bytes_], DeviceRef.CPU(), encoding)
