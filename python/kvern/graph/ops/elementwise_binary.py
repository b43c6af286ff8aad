# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on two or three tensors, one element at a time.

The element types are promoted to that of one operand; numbers take the type of the other operand. The shapes
are aligned at the last axis and broadcast: two sizes must be provably equal, or one of them 1 or absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.dtype import DType
from kvern.graph._convert import promote, to_tensor
from kvern.graph._staging import stage_tensor
from kvern.graph.ops.elementwise import cast

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike


def _binary(op: str, lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    return stage_tensor(op, *promote(op, lhs, rhs))


def add(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `lhs + rhs`, modulo 2^bits for integers.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("add", lhs, rhs)


def div(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns the true quotient `lhs / rhs`; integers are converted to float64 first.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are bool.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    left, right = promote("div", lhs, rhs)
    if left.dtype.is_integral():
        left, right = cast(left, DType.float64), cast(right, DType.float64)
    return stage_tensor("div", left, right)


def equal(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where lhs and rhs are equal, as bool.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("equal", lhs, rhs)


def floor_div(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `floor(lhs / rhs)`; an integer divided by zero gives 0.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("floor_div", lhs, rhs)


def greater(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where lhs is above rhs, as bool; false for NaN.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("greater", lhs, rhs)


def greater_equal(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where lhs is above or equal to rhs, as bool; false for NaN.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("greater_equal", lhs, rhs)


def logical_and(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where both are true.

    Args:
        lhs: A bool tensor, or a bool.
        rhs: A bool tensor, or a bool.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("logical_and", lhs, rhs)


def logical_or(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where at least one is true.

    Args:
        lhs: A bool tensor, or a bool.
        rhs: A bool tensor, or a bool.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("logical_or", lhs, rhs)


def logical_xor(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where exactly one is true.

    Args:
        lhs: A bool tensor, or a bool.
        rhs: A bool tensor, or a bool.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("logical_xor", lhs, rhs)


def mod(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `lhs - floor(lhs / rhs) * rhs`, with the sign of rhs; an integer modulo zero gives 0.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("mod", lhs, rhs)


def mul(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `lhs * rhs`, modulo 2^bits for integers.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("mul", lhs, rhs)


def not_equal(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns where lhs and rhs differ, as bool; NaN differs from everything.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("not_equal", lhs, rhs)


def pow(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `lhs ^ rhs`; for integers modulo 2^bits, and a negative exponent gives 0 unless lhs is 1 or -1.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("pow", lhs, rhs)


def sub(lhs: TensorValueLike, rhs: TensorValueLike) -> TensorValue:
    """Returns `lhs - rhs`, modulo 2^bits for integers.

    Args:
        lhs: A tensor of numbers, or a number.
        rhs: A tensor of numbers, or a number.

    Raises:
        TypeError: The element types have no common one, or are not those of the op.
        ValueError: The shapes do not broadcast, or the devices differ.
    """
    return _binary("sub", lhs, rhs)


def where(condition: TensorValueLike, x: TensorValueLike, y: TensorValueLike) -> TensorValue:
    """Returns x where the condition is true, else y.

    Args:
        condition: A bool tensor.
        x: A tensor, or a number.
        y: A tensor, or a number.

    Raises:
        TypeError: The condition is not bool, or the types of x and y have no common one.
        ValueError: The three shapes do not broadcast, or the devices differ.
    """
    return stage_tensor("where", to_tensor("where", condition), *promote("where", x, y))
