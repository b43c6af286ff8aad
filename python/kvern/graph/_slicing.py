# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy-style indices as the bounds of `kvern.slice`, which count from 0 and do not wrap around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError, ShapeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.dim import Dim, StaticDim
from kvern.graph.shape import Shape

if TYPE_CHECKING:
    from kvern.graph.value import BufferValue, TensorValue

__all__ = ["Bounds", "IndexOutOfRange", "buffer_bounds", "slice_of"]


class IndexOutOfRange(ShapeError, IndexError):
    """An index lies outside a static axis, or there are more indices than axes."""


@dataclass
class Bounds:
    """Bounds of each axis. A bound is a Dim, or a scalar tensor known when the graph runs."""

    starts: list[Any] = field(default_factory=list)
    stops: list[Any] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    sizes: list[Dim | None] = field(default_factory=list)

    def append(self, start: Any, stop: Any, step: int, size: Dim | None = None) -> None:
        """Adds the bounds of the next axis."""
        self.starts.append(start)
        self.stops.append(stop)
        self.steps.append(step)
        self.sizes.append(size)

    @property
    def operands(self) -> list[TensorValue]:
        """The run-time bounds, starts first."""
        return [bound for bound in [*self.starts, *self.stops] if not isinstance(bound, Dim)]

    def is_whole(self, shape: Shape) -> bool:
        """Whether everything of `shape` lies within the bounds, in its order."""
        axes = zip(self.starts, self.stops, self.steps, shape, strict=True)
        return not self.operands and all(
            start == 0 and stop == dim and step == 1 for start, stop, step, dim in axes
        )

    def attributes(self, with_sizes: bool = True) -> dict[str, Any]:
        """Returns the attributes of `kvern.slice`; without sizes, of `kvern.buffer_store_slice`."""
        mlir = bindings()
        unit = mlir.ir.UnitAttr.get(mlir.context)

        def array(dims: list[Any]) -> Any:
            attrs = [dim.to_mlir() if isinstance(dim, Dim) else unit for dim in dims]
            return mlir.ir.ArrayAttr.get(attrs, mlir.context)

        attributes = {"starts": array(self.starts), "stops": array(self.stops), "steps": self.steps}
        return attributes | ({"out_dims": array(self.sizes)} if with_sizes else {})


@dataclass
class _Parsed:
    """An index taken apart.

    Attributes:
        bounds: Of each axis.
        kept: Whether each axis stays in the result.
        picks: Scalar tensors that pick one element, by axis.
        new_axes: Places of new axes in the result.
    """

    bounds: Bounds = field(default_factory=Bounds)
    kept: list[bool] = field(default_factory=list)
    picks: dict[int, TensorValue] = field(default_factory=dict)
    new_axes: list[int] = field(default_factory=list)


def slice_of(op: str, x: TensorValue, index: Any) -> TensorValue:
    """Returns `x[index]`."""
    parsed = _parse(op, x.shape, index)
    bounds = parsed.bounds
    result = x
    if not bounds.is_whole(x.shape):
        result = stage_tensor("slice", x, bounds.operands, as_=op, **bounds.attributes())
    for axis in reversed(range(x.rank)):
        if axis in parsed.picks:
            result = stage_tensor("gather", result, parsed.picks[axis], as_=op, axis=axis)
        elif not parsed.kept[axis]:
            result = stage_tensor("squeeze", result, as_=op, axis=axis)
    for axis in parsed.new_axes:
        result = stage_tensor("unsqueeze", result, as_=op, axis=axis)
    return result


def buffer_bounds(
    op: str, buffer: BufferValue, source: TensorValue, index: Any
) -> tuple[Bounds, TensorValue]:
    """Returns the bounds of `buffer[index]`, and `source` with the axes that the index drops."""
    from kvern.graph import ops

    parsed = _parse(op, buffer.shape, index)
    if parsed.new_axes:
        raise located(GraphError, op, "expected no None among the indices of a buffer")
    bounds = parsed.bounds
    for axis, pick in parsed.picks.items():
        start = ops.where(pick < 0, pick + buffer.shape[axis], pick)
        bounds.starts[axis], bounds.stops[axis] = start, start + 1
    for axis, kept in enumerate(parsed.kept):
        if not kept:
            source = ops.unsqueeze(source, axis)
    return bounds, source


def _parse(op: str, shape: Shape, index: Any) -> _Parsed:
    items = list(index) if isinstance(index, tuple) and not _is_named(index) else [index]
    used = sum(item is not None and item is not Ellipsis for item in items)
    ellipses = sum(item is Ellipsis for item in items)
    if used > len(shape):
        raise located(IndexOutOfRange, op, f"expected at most {len(shape)} indices, but got {used}")
    if ellipses > 1:
        raise located(GraphError, op, f"expected at most one `...`, but got {ellipses}")
    if not ellipses:
        items.append(Ellipsis)
    parsed = _Parsed()
    place = 0  # of the next axis in the result
    for item in items:
        if item is None:
            parsed.new_axes.append(place)
            place += 1
        elif item is Ellipsis:
            for _ in range(len(shape) - used):
                _add_axis(op, shape, slice(None), parsed)
                place += 1
        else:
            _add_axis(op, shape, item, parsed)
            place += parsed.kept[-1]
    return parsed


def _is_named(index: tuple[Any, ...]) -> bool:
    """Whether the tuple is one `(slice, out_dim)`: a name is no index, a dim may be one."""
    if len(index) != 2 or not isinstance(index[0], slice):
        return False
    runtime = any(_is_tensor(bound) for bound in (index[0].start, index[0].stop))
    return isinstance(index[1], str) or (runtime and isinstance(index[1], Dim))


def _is_tensor(value: Any) -> bool:
    from kvern.graph.value import TensorValue

    return isinstance(value, TensorValue)


def _add_axis(op: str, shape: Shape, item: Any, parsed: _Parsed) -> None:
    axis = len(parsed.kept)
    dim = shape[axis]
    size = None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], slice):
        item, size = item[0], Dim(item[1])
    if isinstance(item, slice):
        parsed.bounds.append(*_slice_bounds(op, dim, item), size)
        parsed.kept.append(True)
        return
    parsed.kept.append(False)
    if _is_tensor(item):
        parsed.picks[axis] = _scalar(op, item)
        parsed.bounds.append(StaticDim(0), dim, 1)
        return
    if isinstance(item, StaticDim):
        item = item.dim
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        start = _wrap(int(item), dim)
        if isinstance(start, StaticDim) and isinstance(dim, StaticDim):
            if not 0 <= start.dim < dim.dim:
                raise located(
                    IndexOutOfRange,
                    op,
                    f"expected an index from {-dim.dim} to {dim.dim - 1} for axis {axis}, but got {item}",
                )
    elif isinstance(item, Dim):
        start = item
    else:
        raise located(
            DTypeError,
            op,
            f"expected an int, a slice, `...`, None or a scalar integer tensor as index, but got {item!r}",
            ["pick several elements of an axis with ops.gather"],
        )
    parsed.bounds.append(start, start + 1, 1)


def _wrap(value: int, dim: Dim) -> Dim:
    return dim + value if value < 0 else StaticDim(value)


def _slice_bounds(op: str, dim: Dim, item: slice) -> tuple[Any, Any, int]:
    step = 1 if item.step is None else item.step
    if isinstance(step, (bool, Dim)) or not isinstance(step, (int, np.integer)):
        raise located(DTypeError, op, f"expected an int as step of a slice, but got {step!r}")
    step = int(step)
    if step == 0 or abs(step) >= 2**63:
        raise located(ShapeError, op, f"expected a step of 64 bits other than 0, but got {step}")
    numbers = [item.start, item.stop]
    if isinstance(dim, StaticDim) and all(_is_number(bound) for bound in numbers):
        first, last = (None if n is None else int(n) for n in numbers)
        start, stop, _ = slice(first, last, step).indices(dim.dim)
        return StaticDim(start), StaticDim(stop), step
    whole = (StaticDim(0), dim) if step > 0 else (dim - 1, StaticDim(-1))
    start, stop = (
        default if bound is None else _bound(op, dim, bound)
        for bound, default in zip(numbers, whole, strict=True)
    )
    return start, stop, step


def _is_number(bound: Any) -> bool:
    return bound is None or (
        isinstance(bound, (int, np.integer, StaticDim)) and not isinstance(bound, bool)
    )


def _bound(op: str, dim: Dim, bound: Any) -> Any:
    if _is_tensor(bound):
        return _scalar(op, bound)
    if isinstance(bound, StaticDim):
        bound = bound.dim
    if isinstance(bound, Dim):
        return bound
    if isinstance(bound, bool) or not isinstance(bound, (int, np.integer)):
        raise located(
            DTypeError,
            op,
            f"expected an int, a Dim or a scalar integer tensor as bound, but got {bound!r}",
        )
    if isinstance(dim, StaticDim):
        return StaticDim(min(max(_wrap(int(bound), dim).__int__(), 0), dim.dim))
    return _wrap(int(bound), dim)


def _scalar(op: str, value: Any) -> TensorValue:
    from kvern.graph import ops

    if value.rank != 0 or not value.dtype.is_integral():
        raise located(
            DTypeError,
            op,
            f"expected a scalar integer tensor as index, but got {value!r}",
            ["pick several elements of an axis with ops.gather"],
        )
    return ops.cast(value, DType.int64)
