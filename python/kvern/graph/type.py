# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of values: what is known of a tensor or a buffer when the graph is built."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from kvern.dtype import DType
from kvern.errors import DTypeError, ShapeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.dim import Dim, StaticDim
from kvern.graph.shape import Shape, ShapeLike, num_elements

__all__ = [
    "BufferType",
    "ConvInputLayout",
    "FilterLayout",
    "PagedCacheType",
    "TensorType",
    "Type",
]

_Self = TypeVar("_Self", bound="_ShapedType")


class ConvInputLayout(Enum):
    """Order of the axes of images: batch, height, width, channels. Volumes have their depth before the height."""

    NHWC = "NHWC"
    NCHW = "NCHW"


class FilterLayout(Enum):
    """Order of the axes of filters: depth (Q), height (R), width (S), channels, filters."""

    RSCF = "RSCF"
    QRSCF = "QRSCF"
    FCRS = "FCRS"
    FCQRS = "FCQRS"


class Type:
    """The type of a value: a TensorType, a BufferType or a PagedCacheType."""

    def to_mlir(self) -> Any:
        """Returns the MLIR type."""
        raise NotImplementedError

    @staticmethod
    def from_mlir(t: Any) -> Type:
        """Returns the type of an MLIR type.

        Raises:
            TypeError: It is no type of the dialect.
        """
        ext = bindings().ext
        if ext.PagedCacheType.isinstance(t):
            return PagedCacheType._from_mlir(ext.PagedCacheType(t))
        for cls, attr in ((TensorType, ext.TensorType), (BufferType, ext.BufferType)):
            if attr.isinstance(t):
                return cls._from_mlir(attr(t))
        raise located(DTypeError, "Type", f"expected a type of kvern, but got {t}")


class _ShapedType(Type):
    """What tensors and buffers have in common."""

    dtype: DType
    shape: Shape
    device: DeviceRef

    def __init__(self, dtype: DType, shape: ShapeLike, device: DeviceRef) -> None:
        name = type(self).__name__
        if not isinstance(dtype, DType):
            raise located(DTypeError, name, f"expected a DType, but got {dtype!r}")
        self.dtype = dtype
        self.shape = Shape(shape)
        self.device = DeviceRef.from_device(device)
        for axis, dim in enumerate(self.shape):
            if isinstance(dim, StaticDim) and dim.dim < 0:
                raise located(
                    ShapeError, name, f"expected sizes of 0 or more, but got {dim} at axis {axis}"
                )

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def num_elements(self) -> Dim:
        """Returns the number of elements: the product of the sizes."""
        return num_elements(self.shape)

    def cast(self: _Self, dtype: DType) -> _Self:
        """Returns the type with another element type."""
        return type(self)(dtype, self.shape, self.device)

    @classmethod
    def _from_mlir(cls: type[_Self], t: Any) -> _Self:
        return cls(
            bindings().dtypes[t.element_type],
            [Dim.from_mlir(dim) for dim in t.shape],
            DeviceRef.from_mlir(t.device),
        )

    def _mlir_class(self) -> Any:
        raise NotImplementedError

    def to_mlir(self) -> Any:
        """Returns the MLIR type."""
        return self._mlir_class().get(
            [dim.to_mlir() for dim in self.shape],
            bindings().element_types[self.dtype],
            self.device.to_mlir(),
        )

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, _ShapedType)
            and self.dtype is other.dtype
            and self.shape == other.shape
            and self.device == other.device
        )

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, tuple(self.shape), self.device))

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"{type(self).__name__}({self.dtype.name}, [{dims}], {self.device})"


class TensorType(_ShapedType):
    """An immutable tensor of known rank.

    Attributes:
        dtype: The element type.
        shape: The sizes: static, named or algebraic.
        device: Where the tensor lives.
    """

    def __init__(
        self, dtype: DType, shape: ShapeLike, device: DeviceRef, _layout: Any = None
    ) -> None:
        """Makes a tensor type.

        Raises:
            TypeError: `dtype` is no DType, or `shape` no list of dims.
            ValueError: A static size is below 0.
        """
        super().__init__(dtype, shape, device)

    def as_buffer(self) -> BufferType:
        """Returns the buffer type with the same elements."""
        return BufferType(self.dtype, self.shape, self.device)

    def _mlir_class(self) -> Any:
        return bindings().ext.TensorType


class BufferType(_ShapedType):
    """Memory that is changed in place.

    Attributes:
        dtype: The element type.
        shape: The sizes: static, named or algebraic.
        device: Where the buffer lives.
    """

    def as_tensor(self) -> TensorType:
        """Returns the type of a tensor with the same elements."""
        return TensorType(self.dtype, self.shape, self.device)

    def _mlir_class(self) -> Any:
        return bindings().ext.BufferType


@dataclass(frozen=True)
class PagedCacheType(Type):
    """Keys and values of sequences in pages; `ops.paged_cache` makes values of it.

    Attributes:
        dtype: The element type of the pages.
        sequences: How many sequences there are.
        layers: Layers of the model.
        page_size: Tokens of a page.
        heads: Heads of keys, and of values.
        head_dim: Elements of a head.
        is_latent: Whether there are keys only, which serve as values too.
        granularity: Adjacent elements that share a scale; 0 without scales.
        device: Where the cache lives.
    """

    dtype: DType
    sequences: Dim
    layers: int
    page_size: int
    heads: int
    head_dim: int
    is_latent: bool
    granularity: int
    device: DeviceRef

    @classmethod
    def _from_mlir(cls, t: Any) -> PagedCacheType:
        return cls(
            bindings().dtypes[t.element_type],
            Dim.from_mlir(t.sequences),
            t.layers,
            t.page_size,
            t.heads,
            t.head_dim,
            t.is_latent,
            t.granularity,
            DeviceRef.from_mlir(t.device),
        )
