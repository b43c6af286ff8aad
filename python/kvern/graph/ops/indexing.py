# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.dtype import DType
from kvern.errors import ShapeError
from kvern.graph._convert import axis_of, to_int, to_tensor
from kvern.graph._slicing import slice_of
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.ops.constant import constant, range
from kvern.graph.ops.elementwise import logical_not
from kvern.graph.ops.elementwise_binary import greater_equal, logical_and, sub, where
from kvern.graph.ops.shape import unsqueeze

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["band_part", "gather", "slice_tensor"]


def gather(input: TensorValueLike, indices: TensorValueLike, axis: int) -> TensorValue:
    """Picks slices by index: `result[a, i, b] = input[a, indices[i], b]` (ONNX Gather).

    Args:
        input: A tensor `[a..., n, b...]`.
        indices: A tensor `[i...]` of 32- or 64-bit integers from -n to n - 1; below 0 they count from the end.
            Others are an error when the graph runs.
        axis: The axis of size n.

    Returns:
        A tensor `[a..., i..., b...]`.

    Raises:
        TypeError: The indices are no such integers.
        ValueError: There is no such axis, or the devices differ.
    """
    value = to_tensor("gather", input)
    picks = to_tensor("gather", indices, DType.int64, value.device)
    return stage_tensor("gather", value, picks, axis=axis_of("gather", axis, value.rank))


def slice_tensor(x: TensorValueLike, indices: Any) -> TensorValue:
    """Returns `x[indices]`.

    Args:
        x: A tensor.
        indices: An index or a tuple of them: int, slice, `...`, None (a new axis), a scalar integer tensor, or
            a pair `(slice, out_dim)` that names the size which run-time bounds make. Bounds are ints, dims that
            count from the start of the axis, or scalar integer tensors. Static bounds are cut to a static axis
            as in NumPy. On a named axis a bound -c is `axis - c`; a bound that lies outside when the graph
            runs is an error then.

    Raises:
        IndexError: An int lies outside a static axis.
        TypeError: An index is something else.
        ValueError: There are too many indices, or a slice cannot be made.
    """
    return slice_of("slice_tensor", to_tensor("slice_tensor", x), indices)


def band_part(
    x: TensorValueLike,
    num_lower: int | None = None,
    num_upper: int | None = None,
    exclude: bool = False,
) -> TensorValue:
    """Keeps a band around the diagonal of the last two axes; the rest becomes 0.

    Element (m, n) stays when `m - n <= num_lower` and `n - m <= num_upper`.

    Args:
        x: A tensor of rank 2 or more.
        num_lower: Diagonals to keep below the main one; None or -1 for all.
        num_upper: Diagonals to keep above the main one; None or -1 for all.
        exclude: Whether the band becomes 0 and the rest stays.

    Raises:
        ValueError: The rank is below 2.
    """
    value = to_tensor("band_part", x)
    if value.rank < 2:
        raise located(
            ShapeError, "band_part", f"expected a tensor of rank 2 or more, but got {value!r}"
        )

    def places(axis: int) -> TensorValue:
        return range(0, value.shape[axis], dtype=DType.int64, device=value.device)

    below = sub(unsqueeze(places(-2), 1), unsqueeze(places(-1), 0))
    lower, upper = _diagonals("num_lower", num_lower), _diagonals("num_upper", num_upper)
    keep = None
    if lower is not None:
        keep = greater_equal(lower, below)
    if upper is not None:
        above = greater_equal(below, -upper)
        keep = above if keep is None else logical_and(keep, above)
    if keep is None:
        keep = greater_equal(below, below)
    zero = constant(False if value.dtype is DType.bool else 0, value.dtype, value.device)
    return where(logical_not(keep) if exclude else keep, value, zero)


def _diagonals(name: str, count: int | None) -> int | None:
    """How many diagonals to keep; None for all."""
    number = -1 if count is None else to_int("band_part", name, count)
    return None if number < 0 else number
