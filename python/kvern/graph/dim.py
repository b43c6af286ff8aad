# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of axes: numbers, names, and expressions over names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvern.errors import DTypeError, ShapeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located

__all__ = ["AlgebraicDim", "Dim", "DimLike", "StaticDim", "SymbolicDim"]

_INT64 = range(-(2**63), 2**63)


class Dim:
    """The size of one axis of a tensor.

    `Dim(value)` makes a `StaticDim` of an int (a NumPy one too), a `SymbolicDim` of a str, and gives a Dim
    back as it is. Arithmetic (`+`, `-`, `*`, `//`, `%`, with ints and names too) gives canonical results:

        Dim("x") + 1 + 1 == Dim("x") + 2
        -Dim("x") - 4 == -(Dim("x") + 4)

    Dims compare equal when they are provably the same size. A dim compares with an int or a str as with the
    Dim of it.
    """

    __slots__ = ()

    def __new__(cls, value: DimLike) -> Dim:
        """Makes the Dim of a value.

        Raises:
            TypeError: `value` is no int, str, Dim or dim attribute.
            ValueError: The name is empty, or the number does not fit in 64 bits.
        """
        if isinstance(value, Dim):
            return value
        if isinstance(value, str):
            return SymbolicDim(value)
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return StaticDim(value)
        if type(value).__name__.endswith("Attr") or type(value).__name__ == "Attribute":
            return Dim.from_mlir(value)
        raise located(DTypeError, "Dim", f"expected an int, a str or a Dim, but got {value!r}")

    @staticmethod
    def from_mlir(attr: Any) -> Dim:
        """Returns the Dim of a `#kvern.dim` attribute."""
        attr = bindings().ext.DimAttr(attr)
        value = attr.static_value
        if value is not None:
            return StaticDim(value)
        name = attr.symbol_name
        return AlgebraicDim(attr) if name is None else SymbolicDim(name)

    def to_mlir(self) -> Any:
        """Returns the `#kvern.dim` attribute."""
        raise NotImplementedError

    @property
    def parameters(self) -> Iterable[SymbolicDim]:
        """The names that the size depends on, sorted."""
        return ()

    def substitute(self, mapping: Mapping[Any, DimLike]) -> Dim:
        """Returns the size with names replaced.

        Args:
            mapping: Dims by name (a str or a SymbolicDim); names without an entry stay.

        Raises:
            ShapeError: The result overflows 64 bits or divides by zero.
        """
        names = {str(name): Dim(dim).to_mlir() for name, dim in mapping.items()}
        try:
            attr = self.to_mlir().substitute(names)
        except ValueError as error:
            raise located(ShapeError, "Dim substitute", f"{error}: {self!r}") from None
        return Dim.from_mlir(attr)

    def __add__(self, other: DimLike) -> Dim:
        return _combine("add", self, other)

    def __radd__(self, other: DimLike) -> Dim:
        return _combine("add", other, self)

    def __neg__(self) -> Dim:
        return _combine("mul", self, -1)

    def __sub__(self, other: DimLike) -> Dim:
        return _combine("sub", self, other)

    def __rsub__(self, other: DimLike) -> Dim:
        return _combine("sub", other, self)

    def __mul__(self, other: DimLike) -> Dim:
        return _combine("mul", self, other)

    def __rmul__(self, other: DimLike) -> Dim:
        return _combine("mul", other, self)

    def __floordiv__(self, other: DimLike) -> Dim:
        return _combine("floordiv", self, other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return _combine("floordiv", other, self)

    def __mod__(self, other: DimLike) -> Dim:
        return _combine("mod", self, other)

    def __rmod__(self, other: DimLike) -> Dim:
        return _combine("mod", other, self)

    def ceildiv(self, other: DimLike) -> Dim:
        """Returns the quotient rounded up."""
        return _combine("ceildiv", self, other)

    def __int__(self) -> int:
        raise located(
            ShapeError, "int", f"expected a static dim, but got {self}, known when the graph runs"
        )

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"


class StaticDim(Dim):
    """A size known when the graph is built.

    Attributes:
        dim: The size. It may be below zero only inside a computation.
    """

    __slots__ = ("dim",)
    dim: int

    def __new__(cls, value: int | np.integer | StaticDim) -> StaticDim:
        """Makes the Dim of a number."""
        number = int(value)
        if number not in _INT64:
            raise located(ShapeError, "Dim", f"expected a size of 64 bits, but got {number}")
        self = object.__new__(cls)
        self.dim = number
        return self

    def to_mlir(self) -> Any:
        """Returns the `#kvern.dim` attribute."""
        mlir = bindings()
        return mlir.ext.DimAttr.get_static(self.dim, mlir.context)

    def __int__(self) -> int:
        return self.dim

    def __index__(self) -> int:
        return self.dim

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StaticDim):
            return self.dim == other.dim
        return isinstance(other, (int, np.integer)) and self.dim == int(other)

    def __hash__(self) -> int:
        return hash(self.dim)

    def __str__(self) -> str:
        return str(self.dim)

    def __repr__(self) -> str:
        return f"Dim({self.dim})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (StaticDim, (self.dim,))


class SymbolicDim(Dim):
    """A size known by name; equal names are equal sizes, in all inputs of a graph.

    Attributes:
        name: The name.
    """

    __slots__ = ("name",)
    name: str

    def __new__(cls, value: str | SymbolicDim) -> SymbolicDim:
        """Makes the Dim of a name."""
        name = value.name if isinstance(value, SymbolicDim) else value
        if not name:
            raise located(ShapeError, "Dim", "expected a name that is not empty")
        self = object.__new__(cls)
        self.name = name
        return self

    def to_mlir(self) -> Any:
        """Returns the `#kvern.dim` attribute."""
        mlir = bindings()
        return mlir.ext.DimAttr.get_symbol(self.name, mlir.context)

    @property
    def parameters(self) -> Iterable[SymbolicDim]:
        """The dim itself."""
        return (self,)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymbolicDim):
            return self.name == other.name
        return isinstance(other, str) and self.name == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (SymbolicDim, (self.name,))


class AlgebraicDim(Dim):
    """An expression over names, in canonical form; made by arithmetic.

    Attributes:
        attr: The `#kvern.dim` attribute.
    """

    __slots__ = ("attr",)
    attr: Any

    def __new__(cls, value: Any) -> AlgebraicDim:
        """Wraps a `#kvern.dim` attribute (or an AlgebraicDim) that is no number and no single name."""
        self = object.__new__(cls)
        self.attr = value.attr if isinstance(value, AlgebraicDim) else value
        return self

    @classmethod
    def apply(cls, op: str, *operands: DimLike) -> Dim:
        """Returns the operands joined from the left.

        Args:
            op: `"add"`, `"mul"`, `"floordiv"`, `"ceildiv"` or `"mod"`.
            *operands: One or more dims.
        """
        result = Dim(operands[0])
        for operand in operands[1:]:
            result = _combine(op, result, operand)
        return result

    def to_mlir(self) -> Any:
        """Returns the `#kvern.dim` attribute."""
        return self.attr

    @property
    def parameters(self) -> Iterable[SymbolicDim]:
        """The names in the expression, sorted."""
        return tuple(SymbolicDim(name) for name in self.attr.symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AlgebraicDim) and self.attr == other.attr

    def __hash__(self) -> int:
        return hash(self.attr)

    def __str__(self) -> str:
        return self.attr.expr_str


# Any: also a dim attribute of MLIR.
DimLike = int | str | Dim | np.integer | Any

_FOLDS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
}
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "ceildiv": 1}


def _combine(kind: str, lhs: DimLike, rhs: DimLike) -> Any:
    """The canonical `lhs kind rhs`; MLIR is needed only when a name takes part."""
    try:
        lhs, rhs = Dim(lhs), Dim(rhs)
    except TypeError:
        return NotImplemented
    if isinstance(rhs, StaticDim):
        if isinstance(lhs, StaticDim):
            return StaticDim(_FOLDS[kind](lhs.dim, rhs.dim))
        if rhs.dim == _NEUTRAL.get(kind):
            return lhs
    elif isinstance(lhs, StaticDim) and lhs.dim == {"add": 0, "mul": 1}.get(kind):
        return rhs
    if kind == "sub":
        return lhs + -rhs
    try:
        attr = bindings().ext.DimAttr.combine(kind, lhs.to_mlir(), rhs.to_mlir())
    except ValueError as error:
        raise located(ShapeError, f"Dim {kind}", f"{error}: {lhs!r} and {rhs!r}") from None
    return Dim.from_mlir(attr)
