# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.errors import ShapeError
from kvern.graph._convert import promote
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.ops.elementwise_binary import mul
from kvern.graph.ops.shape import squeeze, unsqueeze

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["matmul", "outer"]


def matmul(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns the matrix product over the last two axes: `[..., m, k] @ [..., k, n] -> [..., m, n]`.

    The leading axes broadcast. A left operand of rank 1 counts as `[1, k]`, a right one as `[k, 1]`; the axis of
    size 1 is dropped from the result. float16 and bfloat16 accumulate in float32, integers modulo 2^bits.

    Args:
        lhs: A tensor of numbers, of rank 1 or more.
        rhs: A tensor of numbers, of rank 1 or more.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: An operand is a scalar, the inner sizes differ, or the leading axes do not broadcast.
    """
    left, right = promote("matmul", lhs, rhs)
    for side, value in (("left", left), ("right", right)):
        if value.rank == 0:
            raise located(
                ShapeError,
                "matmul",
                f"expected a {side} operand of rank 1 or more, but got a scalar",
            )
    is_row, is_column = left.rank == 1, right.rank == 1
    left = unsqueeze(left, 0) if is_row else left
    right = unsqueeze(right, 1) if is_column else right
    result = stage_tensor("matmul", left, right)
    result = squeeze(result, -1) if is_column else result
    return squeeze(result, -1 if is_column else -2) if is_row else result


def outer(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns all products of two vectors: `[m], [n] -> [m, n]`.

    Args:
        lhs: A tensor of numbers, of rank 1.
        rhs: A tensor of numbers, of rank 1.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: An operand is not of rank 1.
    """
    left, right = promote("outer", lhs, rhs)
    if left.rank != 1 or right.rank != 1:
        raise located(
            ShapeError,
            "outer",
            f"expected two tensors of rank 1, but got ranks {left.rank} and {right.rank}",
        )
    return mul(unsqueeze(left, 1), unsqueeze(right, 0))
