# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values: the edges of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NoReturn,
    Protocol,
    TypeVar,
    runtime_checkable,
)

import numpy as np

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphContextError, GraphError, ShapeError, UnsupportedError
from kvern.graph import ops
from kvern.graph._mlir import bindings
from kvern.graph._operators import TensorOperators
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.dim import Dim, DimLike, StaticDim
from kvern.graph.shape import Shape, ShapeLike
from kvern.graph.type import BufferType, PagedCacheType, TensorType, Type

if TYPE_CHECKING:
    from kvern.graph.graph import Graph

__all__ = [
    "BufferValue",
    "BufferValueLike",
    "HasBufferValue",
    "HasTensorValue",
    "PagedCacheValue",
    "TensorValue",
    "TensorValueLike",
    "Value",
]

_T = TypeVar("_T", bound=Type)


@runtime_checkable
class HasTensorValue(Protocol):
    """What can be used as a tensor: it has `__tensorvalue__`."""

    def __tensorvalue__(self) -> TensorValue:
        """Returns the tensor."""
        ...


@runtime_checkable
class HasBufferValue(Protocol):
    """What can be used as a buffer: it has `__buffervalue__`."""

    def __buffervalue__(self) -> BufferValue:
        """Returns the buffer."""
        ...


class Value(Generic[_T]):
    """A value of a graph: a `TensorValue`, a `BufferValue` or a `PagedCacheValue`."""

    _raw: Any = None
    _graph: Graph | None = None
    _type: Type | None = None

    @property
    def type(self) -> _T:
        """The type."""
        if self._type is None:
            self._type = Type.from_mlir(self._raw.type)
        return self._type  # pyright: ignore[reportReturnType]

    @property
    def tensor(self) -> TensorValue:
        """The value as a tensor.

        Raises:
            TypeError: It is something else.
        """
        self._refuse("tensor")

    @property
    def buffer(self) -> BufferValue:
        """The value as a buffer.

        Raises:
            TypeError: It is something else.
        """
        self._refuse("buffer")

    @property
    def opaque(self) -> NoReturn:
        """Opaque values do not exist here.

        Raises:
            TypeError: Always.
        """
        self._refuse("opaque value")

    def _refuse(self, wanted: str) -> NoReturn:
        raise located(DTypeError, "Value", f"expected a {wanted}, but got {self!r}")

    def _in_graph(self, graph: Graph, op: str) -> Any:
        """Returns the MLIR value for use by an op of `graph`."""
        if self._graph is not graph:
            owner = "no graph" if self._graph is None else f"graph '{self._graph.name}'"
            raise located(
                GraphContextError,
                op,
                f"expected a value of graph '{graph.name}', but got one of {owner}",
                [f"the value is {self!r}"],
            )
        return self._raw

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type!r})"


class TensorValue(TensorOperators, Value[TensorType]):
    """A tensor of a graph.

    Arithmetic operators, comparisons (elementwise, `==` too), `@` and indexing stage ops. Indices are those
    of NumPy's basic indexing: ints drop an axis, slices keep it, `...` fills up and `None` adds an axis of
    size 1. Bounds may be dims, which count from the start of the axis, and scalar integer tensors:
    `x[(slice(0, t), "n")]` names the size that a run-time bound makes. Static bounds are cut to a static axis
    as in NumPy; on a named axis a bound -c is `axis - c`, and a bound that lies outside when the graph runs
    is an error then.
    """

    def __init__(self, value: TensorValueLike) -> None:
        """Makes a tensor of what can be used as one.

        Args:
            value: A value, a number, an array (a constant), or a Dim or Shape (an int64 tensor of the sizes).

        Raises:
            TypeError: `value` cannot be used as a tensor.
        """
        from kvern.graph._convert import to_tensor
        from kvern.graph.graph import Graph

        found = to_tensor("TensorValue", value)
        if found._graph is None:
            graph = Graph._current_for("TensorValue")
            self._raw, self._graph = found._in_graph(graph, "TensorValue"), graph
        else:
            self._raw, self._graph = found._raw, found._graph

    @staticmethod
    def from_dim(dim: DimLike) -> TensorValue:
        """Returns a size as an int64 scalar on the CPU."""
        return ops.squeeze(ops.shape_to_tensor([Dim(dim)]), 0)

    @staticmethod
    def from_shape(shape: ShapeLike) -> TensorValue:
        """Returns sizes as an int64 tensor of rank 1 on the CPU."""
        return ops.shape_to_tensor(shape)

    @property
    def tensor(self) -> TensorValue:
        """The value itself."""
        return self

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """The sizes."""
        return self.type.shape

    @property
    def device(self) -> DeviceRef:
        """Where the tensor lives."""
        return self.type.device

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.type.rank

    @property
    def T(self) -> TensorValue:
        """The tensor with its last two axes swapped; itself below rank 2."""
        return self if self.rank < 2 else ops.transpose(self, -1, -2)

    def argmax(self, axis: int = -1) -> TensorValue:
        """See `ops.argmax`."""
        return ops.argmax(self, axis)

    def broadcast_to(self, shape: ShapeLike) -> TensorValue:
        """See `ops.broadcast_to`."""
        return ops.broadcast_to(self, shape)

    def cast(self, dtype: DType) -> TensorValue:
        """See `ops.cast`."""
        return ops.cast(self, dtype)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> TensorValue:
        """See `ops.flatten`."""
        return ops.flatten(self, start_dim, end_dim)

    def max(self, axis: int = -1) -> TensorValue:
        """See `ops.max`."""
        return ops.max(self, axis=axis)

    def mean(self, axis: int = -1) -> TensorValue:
        """See `ops.mean`."""
        return ops.mean(self, axis)

    def min(self, axis: int = -1) -> TensorValue:
        """See `ops.min`."""
        return ops.min(self, axis=axis)

    def permute(self, dims: Sequence[int]) -> TensorValue:
        """See `ops.permute`."""
        return ops.permute(self, dims)

    def print(self, label: str = "debug_tensor") -> None:
        """Printing at run time is not supported.

        Raises:
            NotImplementedError: Always.
        """
        raise located(UnsupportedError, "print", "tensors cannot be printed when the graph runs")

    def rebind(self, shape: ShapeLike, message: str = "") -> TensorValue:
        """See `ops.rebind`."""
        return ops.rebind(self, shape, message)

    def reshape(self, shape: ShapeLike) -> TensorValue:
        """See `ops.reshape`."""
        return ops.reshape(self, shape)

    def sum(self, axis: int = -1) -> TensorValue:
        """See `ops.sum`."""
        return ops.sum(self, axis)

    def to(self, device: Any) -> TensorValue:
        """See `ops.transfer_to`."""
        return ops.transfer_to(self, device)

    def transpose(self, dim_1: int, dim_2: int) -> TensorValue:
        """See `ops.transpose`."""
        return ops.transpose(self, dim_1, dim_2)

    def __getitem__(self, index: Any) -> TensorValue:
        return ops.slice_tensor(self, index)

    def __iter__(self) -> Iterator[TensorValue]:
        size = self.shape[0] if self.rank else None
        if not isinstance(size, StaticDim):
            raise located(
                ShapeError,
                "iter",
                f"expected a static first axis to iterate over, but got {self!r}",
            )
        return (self[i] for i in range(size.dim))

    def __bool__(self) -> NoReturn:
        raise located(
            GraphError,
            "bool",
            "a tensor has no truth value while the graph is built",
            ["choose between values with ops.where; compare with None by `is None`"],
        )


class BufferValue(Value[BufferType]):
    """Memory that a graph changes in place.

    `buf[...]` loads it, `buf[index]` a part, and `buf[index] = tensor` stores; see `TensorValue` for indices.
    """

    def __init__(self, value: BufferValueLike) -> None:
        """Makes a buffer value of what can be used as one.

        Raises:
            TypeError: `value` cannot be used as a buffer.
        """
        if isinstance(value, HasBufferValue):
            value = value.__buffervalue__()
        if not isinstance(value, BufferValue):
            raise located(DTypeError, "BufferValue", f"expected a buffer, but got {value!r}")
        self._raw, self._graph = value._raw, value._graph

    @property
    def buffer(self) -> BufferValue:
        """The value itself."""
        return self

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """The sizes."""
        return self.type.shape

    @property
    def device(self) -> DeviceRef:
        """Where the buffer lives."""
        return self.type.device

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.type.rank

    def print(self, label: str = "debug_buffer") -> None:
        """Printing at run time is not supported.

        Raises:
            NotImplementedError: Always.
        """
        raise located(UnsupportedError, "print", "buffers cannot be printed when the graph runs")

    def __getitem__(self, index: Any) -> TensorValue:
        return ops.slice_tensor(ops.buffer_load(self), index)

    def __setitem__(self, index: Any, value: TensorValueLike) -> None:
        if index is Ellipsis:
            ops.buffer_store(self, value)
        else:
            ops.buffer_store_slice(self, value, index)


class PagedCacheValue(Value[PagedCacheType]):
    """A cache of keys and values, from `ops.paged_cache`."""

    @property
    def dtype(self) -> DType:
        """The element type of the pages."""
        return self.type.dtype

    @property
    def heads(self) -> int:
        """Heads of keys, and of values."""
        return self.type.heads

    @property
    def head_dim(self) -> int:
        """Elements of a head."""
        return self.type.head_dim

    @property
    def page_size(self) -> int:
        """Tokens of a page."""
        return self.type.page_size

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return self.type.layers

    @property
    def device(self) -> DeviceRef:
        """Where the cache lives."""
        return self.type.device


def wrap(raw: Any, graph: Graph) -> TensorValue | BufferValue | PagedCacheValue:
    """Returns the value of an MLIR value of `graph`."""
    ext = bindings().ext
    if ext.TensorType.isinstance(raw.type):
        cls = TensorValue
    else:
        cls = BufferValue if ext.BufferType.isinstance(raw.type) else PagedCacheValue
    value = cls.__new__(cls)
    value._raw, value._graph = raw, graph
    return value


# Also numbers of NumPy, and arrays that speak DLPack.
TensorValueLike = (
    Value[TensorType] | Shape | Dim | HasTensorValue | int | float | np.integer | np.floating | Any
)
BufferValueLike = BufferValue | HasBufferValue
