# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same elements in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.errors import ShapeError, UnsupportedError
from kvern.graph._convert import axis_of, to_int, to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage, stage_tensor
from kvern.graph.device import DeviceRef
from kvern.graph.dim import Dim, StaticDim
from kvern.graph.shape import Shape, ShapeLike, num_elements

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = [
    "broadcast_to",
    "chunk",
    "concat",
    "flatten",
    "permute",
    "rebind",
    "repeat_interleave",
    "reshape",
    "shape_to_tensor",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unsqueeze",
]


def broadcast_to(
    x: TensorValueLike, shape: TensorValue | ShapeLike, out_dims: ShapeLike | None = None
) -> TensorValue:
    """Repeats axes of size 1.

    Args:
        x: A tensor; each of its sizes, aligned at the last axis, is 1 or that of `shape`.
        shape: The shape of the result. A shape that is a tensor is not supported yet.
        out_dims: The shape of the result where `shape` is a tensor.

    Raises:
        ValueError: The shapes do not broadcast, or `shape` is a tensor.
    """
    from kvern.graph.value import TensorValue

    if isinstance(shape, TensorValue):
        if out_dims is None:
            raise located(
                ShapeError,
                "broadcast_to",
                "expected out_dims with a shape that is a tensor, but got None",
            )
        raise located(
            UnsupportedError,
            "broadcast_to",
            "expected a shape of dims, but got a tensor; give its dims",
        )
    return stage_tensor("broadcast_to", to_tensor("broadcast_to", x), shape=Shape(shape).to_mlir())


def reshape(x: TensorValueLike, shape: ShapeLike) -> TensorValue:
    """Gives the elements, in row-major order, another shape.

    Args:
        x: A tensor.
        shape: The new sizes; one may be -1, which stands for what is left of the elements.

    Raises:
        ValueError: The number of elements is not provably the same (rebind then), or more than one size is -1.
    """
    value = to_tensor("reshape", x)
    target = Shape(shape)
    unknown = [axis for axis, dim in enumerate(target) if dim == -1]
    if len(unknown) > 1:
        raise located(
            ShapeError, "reshape", f"expected at most one -1, but got shape {_text(target)}"
        )
    if unknown:
        target[unknown[0]] = _remaining(value.shape, target)
    return stage_tensor("reshape", value, shape=target.to_mlir())


def _remaining(have: Shape, target: Shape) -> Dim:
    """The size that -1 stands for: what is left of `have` once the other sizes of `target` divide it."""
    left, wanted = list(have), [dim for dim in target if dim != -1]
    for dim in list(wanted):
        if dim in left and dim != 0:
            left.remove(dim)
            wanted.remove(dim)
    total, known = num_elements(left), num_elements(wanted)
    if known != 0:
        size = total // known
        if size * known == total:
            return size
    raise located(
        ShapeError,
        "reshape",
        f"expected the sizes of {_text(have)} to be divisible by the others of {_text(target)}, "
        f"but got {total} and {known}",
        ["name the sizes so that they are provably divisible, or rebind"],
    )


def flatten(x: TensorValueLike, start_dim: int = 0, end_dim: int = -1) -> TensorValue:
    """Merges the axes from `start_dim` to `end_dim` into one; a scalar becomes one of rank 1.

    Args:
        x: A tensor.
        start_dim: The first axis to merge.
        end_dim: The last axis to merge.

    Raises:
        ValueError: There is no such axis, or `start_dim` comes after `end_dim`.
    """
    value = to_tensor("flatten", x)
    rank = max(value.rank, 1)
    start, end = axis_of("flatten", start_dim, rank), axis_of("flatten", end_dim, rank)
    if start > end:
        raise located(
            ShapeError,
            "flatten",
            f"expected start_dim not above end_dim, but got {start_dim} and {end_dim}",
        )
    merged = num_elements(value.shape[start : end + 1])
    return reshape(value, [*value.shape[:start], merged, *value.shape[end + 1 :]])


def squeeze(x: TensorValueLike, axis: int) -> TensorValue:
    """Drops an axis of size 1.

    Args:
        x: A tensor.
        axis: The axis.

    Raises:
        ValueError: There is no such axis, or its size is not 1.
    """
    value = to_tensor("squeeze", x)
    return stage_tensor("squeeze", value, axis=axis_of("squeeze", axis, value.rank))


def unsqueeze(x: TensorValueLike, axis: int) -> TensorValue:
    """Inserts an axis of size 1.

    Args:
        x: A tensor.
        axis: The place of the new axis in the result.

    Raises:
        ValueError: The result has no such axis.
    """
    value = to_tensor("unsqueeze", x)
    return stage_tensor("unsqueeze", value, axis=axis_of("unsqueeze", axis, value.rank + 1))


def permute(x: TensorValueLike, dims: Sequence[int]) -> TensorValue:
    """Reorders the axes: axis i of the result is axis `dims[i]` of x.

    Args:
        x: A tensor.
        dims: Each axis of x once.

    Raises:
        ValueError: `dims` is no permutation of the axes.
    """
    value = to_tensor("permute", x)
    axes = [axis_of("permute", dim, value.rank) for dim in dims]
    return stage_tensor("permute", value, permutation=axes)


def transpose(x: TensorValueLike, axis_1: int, axis_2: int) -> TensorValue:
    """Swaps two axes.

    Args:
        x: A tensor.
        axis_1: One axis.
        axis_2: The other.

    Raises:
        ValueError: There is no such axis.
    """
    value = to_tensor("transpose", x)
    first = axis_of("transpose", axis_1, value.rank)
    second = axis_of("transpose", axis_2, value.rank)
    axes = list(range(value.rank))
    axes[first], axes[second] = second, first
    return stage_tensor("permute", value, as_="transpose", permutation=axes)


def rebind(
    x: TensorValueLike, shape: ShapeLike, message: str = "", layout: Any = None
) -> TensorValue:
    """Asserts the sizes when the graph runs; the result has those of `shape`.

    Names that the graph has not met yet are bound to the sizes found; all else is compared.

    Args:
        x: A tensor.
        shape: As many sizes as x has axes.
        message: Part of the error when the sizes differ.
        layout: Must be None.

    Raises:
        ValueError: The ranks differ, or two numbers do.
    """
    if layout is not None:
        raise located(UnsupportedError, "rebind", f"expected no layout, but got {layout!r}")
    value = to_tensor("rebind", x)
    return stage_tensor("rebind", value, shape=Shape(shape).to_mlir(), message=message)


def shape_to_tensor(shape: ShapeLike) -> TensorValue:
    """Returns the sizes as an int64 tensor of rank 1 on the CPU."""
    cpu = DeviceRef.CPU().to_mlir()
    return stage_tensor("shape_to_tensor", shape=Shape(shape).to_mlir(), device=cpu)


def concat(original_vals: Sequence[TensorValueLike], axis: int = 0) -> TensorValue:
    """Joins tensors along an axis, whose sizes add up.

    Args:
        original_vals: One or more tensors of one element type and device, with all other sizes equal.
        axis: The axis.

    Raises:
        TypeError: The element types differ.
        ValueError: There is no tensor, no such axis, or the ranks or other sizes differ.
    """
    values = _all("concat", original_vals)
    return stage_tensor("concat", values, axis=axis_of("concat", axis, values[0].rank))


def stack(values: Sequence[TensorValueLike], axis: int = 0) -> TensorValue:
    """Joins tensors along a new axis.

    Args:
        values: One or more tensors of one type.
        axis: The place of the new axis in the result.

    Raises:
        ValueError: There is no tensor, no such axis, or the types differ.
    """
    tensors = _all("stack", values)
    return stage_tensor("stack", tensors, axis=axis_of("stack", axis, tensors[0].rank + 1))


def _all(op: str, values: Sequence[TensorValueLike]) -> list[TensorValue]:
    tensors = [to_tensor(op, value) for value in values]
    if not tensors:
        raise located(ShapeError, op, "expected at least one tensor, but got none")
    return tensors


def split(x: TensorValueLike, split_sizes: ShapeLike, axis: int = 0) -> list[TensorValue]:
    """Cuts a tensor along an axis: result i has `split_sizes[i]` elements there.

    Args:
        x: A tensor.
        split_sizes: Sizes that add up to that of the axis.
        axis: The axis.

    Raises:
        ValueError: There is no such axis, or the sizes do not add up to its size.
    """
    value = to_tensor("split", x)
    place = axis_of("split", axis, value.rank)
    results = stage("split", value, sizes=Shape(split_sizes).to_mlir(), axis=place)
    return [result.tensor for result in results]


def chunk(x: TensorValueLike, chunks: int, axis: int = 0) -> list[TensorValue]:
    """Cuts a tensor along an axis into equal parts.

    Args:
        x: A tensor.
        chunks: How many parts.
        axis: The axis.

    Raises:
        ValueError: There is no such axis, or its size is not provably divisible.
    """
    value = to_tensor("chunk", x)
    place = axis_of("chunk", axis, value.rank)
    dim = value.shape[place]
    if to_int("chunk", "chunks", chunks) < 1 or (dim // chunks) * chunks != dim:
        raise located(
            ShapeError,
            "chunk",
            f"expected the size of axis {axis} to be divisible by the number of chunks, "
            f"but got {dim} and {chunks}",
        )
    return split(value, [dim // chunks] * chunks, place)


def tile(x: TensorValueLike, repeats: Sequence[int]) -> TensorValue:
    """Repeats the whole tensor along each axis.

    Args:
        x: A tensor.
        repeats: How often, for each axis.

    Raises:
        ValueError: There is not one number of 1 or more for each axis.
    """
    value = to_tensor("tile", x)
    counts = [to_int("tile", "repeats", count) for count in repeats]
    if len(counts) != value.rank or any(count < 1 for count in counts):
        raise located(
            ShapeError, "tile", f"expected {value.rank} numbers of 1 or more, but got {counts}"
        )
    # [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r * a, s * b]
    pairs = list(zip(counts, value.shape, strict=True))
    spread = reshape(value, [size for _, dim in pairs for size in (1, dim)])
    repeated = broadcast_to(spread, [size for pair in pairs for size in pair])
    return reshape(repeated, [dim * count for count, dim in pairs])


def repeat_interleave(
    x: TensorValueLike, repeats: int, axis: int | None = None, out_dim: Any = None
) -> TensorValue:
    """Repeats each element along an axis.

    Args:
        x: A tensor.
        repeats: How often; a tensor is not supported yet.
        axis: The axis; by default the tensor is flattened first.
        out_dim: Name of the size of the axis in the result, as by `rebind`.

    Raises:
        ValueError: There is no such axis, or `repeats` is no int of 1 or more.
    """
    value = to_tensor("repeat_interleave", x)
    if not isinstance(repeats, (int, np.integer)) or repeats < 1:
        raise located(
            UnsupportedError,
            "repeat_interleave",
            f"expected an int of 1 or more as repeats, but got {repeats!r}",
        )
    value = flatten(value) if axis is None else value
    place = axis_of("repeat_interleave", -1 if axis is None else axis, value.rank)
    before, size, after = value.shape[:place], value.shape[place], value.shape[place + 1 :]
    repeated = broadcast_to(
        unsqueeze(value, place + 1), [*before, size, StaticDim(int(repeats)), *after]
    )
    result = reshape(repeated, [*before, size * int(repeats), *after])
    return result if out_dim is None else rebind(result, [*before, out_dim, *after])


def _text(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
