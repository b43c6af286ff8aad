# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of dims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvern.errors import DTypeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph.dim import Dim, DimLike, StaticDim, SymbolicDim

__all__ = ["Shape", "ShapeLike", "num_elements"]

ShapeLike = Iterable[DimLike]


class Shape(list[Dim]):
    """The sizes of a tensor, outermost axis first: a list of Dim."""

    def __init__(self, dims: ShapeLike = ()) -> None:
        """Makes the shape of anything that gives dims.

        Raises:
            TypeError: `dims` is a single dim.
        """
        if not isinstance(dims, Iterable) or isinstance(dims, (str, Dim)):
            raise located(DTypeError, "Shape", f"expected a list of dims, but got {dims!r}")
        super().__init__(Dim(dim) for dim in dims)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    @property
    def static_dims(self) -> list[int]:
        """The sizes that are numbers, in order; the others are left out."""
        return [dim.dim for dim in self if isinstance(dim, StaticDim)]

    @property
    def parameters(self) -> Iterable[SymbolicDim]:
        """The names that the sizes depend on, each once, in order of appearance."""
        return list(dict.fromkeys(name for dim in self for name in dim.parameters))

    @staticmethod
    def is_static(shape: Iterable[Any]) -> bool:
        """Whether all sizes are numbers of 0 or more."""
        return all(isinstance(dim, StaticDim) and dim.dim >= 0 for dim in Shape(shape))

    @staticmethod
    def from_mlir(attr: Any) -> Shape:
        """Returns the Shape of a `#kvern.shape` attribute."""
        return Shape(Dim.from_mlir(dim) for dim in attr.dims)

    def to_mlir(self) -> Any:
        """Returns the `#kvern.shape` attribute."""
        mlir = bindings()
        return mlir.ext.ShapeAttr.get([dim.to_mlir() for dim in self], mlir.context)


def num_elements(dims: Sequence[Dim]) -> Dim:
    """Returns the product of the sizes; 1 when there are none."""
    result: Dim = StaticDim(1)
    for dim in dims:
        result = result * dim
    return result
