# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.graph import ops

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue

__all__ = ["TensorOperators"]


class TensorOperators:
    """Python's operators, each the `ops` function of its name.

    The other operand may be a number, an array, a Dim or a Shape.
    """

    # NumPy arrays leave binary operators to us.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> TensorValue:
        return ops.add(self, other)

    def __radd__(self, other: Any) -> TensorValue:
        return ops.add(other, self)

    def __sub__(self, other: Any) -> TensorValue:
        return ops.sub(self, other)

    def __rsub__(self, other: Any) -> TensorValue:
        return ops.sub(other, self)

    def __mul__(self, other: Any) -> TensorValue:
        return ops.mul(self, other)

    def __rmul__(self, other: Any) -> TensorValue:
        return ops.mul(other, self)

    def __truediv__(self, other: Any) -> TensorValue:
        return ops.div(self, other)

    def __rtruediv__(self, other: Any) -> TensorValue:
        return ops.div(other, self)

    def __floordiv__(self, other: Any) -> TensorValue:
        return ops.floor_div(self, other)

    def __rfloordiv__(self, other: Any) -> TensorValue:
        return ops.floor_div(other, self)

    def __mod__(self, other: Any) -> TensorValue:
        return ops.mod(self, other)

    def __rmod__(self, other: Any) -> TensorValue:
        return ops.mod(other, self)

    def __pow__(self, other: Any) -> TensorValue:
        return ops.pow(self, other)

    def __rpow__(self, other: Any) -> TensorValue:
        return ops.pow(other, self)

    def __matmul__(self, other: Any) -> TensorValue:
        return ops.matmul(self, other)

    def __rmatmul__(self, other: Any) -> TensorValue:
        return ops.matmul(other, self)

    def __neg__(self) -> TensorValue:
        return ops.negate(self)

    def __pos__(self) -> TensorValue:
        return self  # pyright: ignore[reportReturnType]

    def __abs__(self) -> TensorValue:
        return ops.abs(self)

    def __eq__(self, other: object) -> TensorValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ops.equal(self, other)

    def __ne__(self, other: object) -> TensorValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ops.not_equal(self, other)

    def __gt__(self, other: Any) -> TensorValue:
        return ops.greater(self, other)

    def __ge__(self, other: Any) -> TensorValue:
        return ops.greater_equal(self, other)

    def __lt__(self, other: Any) -> TensorValue:
        return ops.greater(other, self)

    def __le__(self, other: Any) -> TensorValue:
        return ops.greater_equal(other, self)

    def __and__(self, other: Any) -> TensorValue:
        return ops.logical_and(self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> TensorValue:
        return ops.logical_or(self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> TensorValue:
        return ops.logical_xor(self, other)

    __rxor__ = __xor__

    def __invert__(self) -> TensorValue:
        return ops.logical_not(self)

    # Tensors are told apart by identity: `==` is elementwise.
    __hash__ = object.__hash__
