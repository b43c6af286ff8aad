# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with quantized weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kvern.errors import GraphError, ShapeError, UnsupportedError
from kvern.graph._convert import to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.ops.shape import squeeze, unsqueeze
from kvern.graph.quantization import QuantizationConfig, QuantizationEncoding, dialect_encoding

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["dequantize", "qmatmul"]


def _dialect_name(
    op: str,
    encoding: QuantizationEncoding,
    config: QuantizationConfig | None,
    numbers: bool = False,
) -> str:
    try:
        return dialect_encoding(encoding, config, numbers=numbers)
    except (GraphError, UnsupportedError) as error:
        raise located(type(error), op, str(error)) from None


def qmatmul(
    encoding: QuantizationEncoding,
    config: QuantizationConfig | None,
    lhs: TensorValueLike,
    *rhs: TensorValueLike,
    activations: Literal["exact", "int8"] = "exact",
) -> TensorValue:
    """Returns `lhs @ W.T` for quantized weights W: `[..., k] -> [..., n]`.

    Sums are of float32. When the blocks are a weight, they are brought to the order in which the product reads them
    once, at load.

    Args:
        encoding: How the weights are stored: Q8_0, Q4_0, Q4_1, or GROUPED.
        config: The parameters of GROUPED; not used for the others.
        lhs: `[..., k]`, of float32, bfloat16 or float16.
        *rhs: One tensor of uint8, `[n, k / elements_per_block * block_size]`: row n holds the blocks of row n of W.
        activations: What is multiplied. With B the largest multiple of a block up to 128 that divides k, and X the
            largest |lhs| of B adjacent elements: `"exact"`, the elements of lhs as float32, or, where that takes less
            time, rounded to multiples of X / 4128768: the error is that of a product of float32, plus at most
            1.3e-7 X times the sum of |W|, for each B elements of k. `"int8"`: rounded to multiples of X / 127, so
            that products are those of bytes: the error is at most X / 254 times the sum of |W| for each B elements.
            An element that is not finite makes its row of the result so.

    Raises:
        NotImplementedError: There is no kernel for the encoding.
        TypeError: An element type is none of those.
        ValueError: k is not what a row of blocks holds.
    """
    name = _dialect_name("qmatmul", encoding, config)
    if len(rhs) != 1:
        raise located(
            GraphError, "qmatmul", f"expected one tensor of blocks for {name}, but got {len(rhs)}"
        )
    left, blocks = to_tensor("qmatmul", lhs), to_tensor("qmatmul", rhs[0])
    if left.rank == 0:
        raise located(ShapeError, "qmatmul", "expected lhs of rank 1 or more, but got a scalar")
    is_row = left.rank == 1
    result = stage_tensor(
        "quantized_matmul",
        unsqueeze(left, 0) if is_row else left,
        blocks,
        as_="qmatmul",
        encoding=name,
        activations=activations,
    )
    return squeeze(result, 0) if is_row else result


def dequantize(
    encoding: QuantizationEncoding,
    quantized: TensorValueLike,
    config: QuantizationConfig | None = None,
) -> TensorValue:
    """Returns the numbers that blocks stand for, in float32.

    Args:
        encoding: How they are stored: Q8_0, Q4_0, Q4_1, Q4_K, Q6_K or GROUPED.
        quantized: `[..., k / elements_per_block * block_size]` of uint8; the last size is static.
        config: The parameters of GROUPED; not used for the others.

    Returns:
        `[..., k]`.

    Raises:
        NotImplementedError: There is no kernel for the encoding.
        TypeError: The element type is not uint8.
        ValueError: The last size does not hold whole blocks.
    """
    name = _dialect_name("dequantize", encoding, config, numbers=True)
    return stage_tensor("dequantize", to_tensor("dequantize", quantized), encoding=name)
