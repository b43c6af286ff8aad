# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dims: construction, the documented equalities, and their algebra against Python's integers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvern.errors import ShapeError
from kvern.graph import AlgebraicDim, Dim, StaticDim, SymbolicDim

X, Y = Dim("x"), Dim("y")


def test_kinds() -> None:
    assert isinstance(Dim(3), StaticDim) and Dim(3).dim == 3
    assert isinstance(Dim(np.int32(3)), StaticDim)
    assert isinstance(X, SymbolicDim) and X.name == "x"
    assert isinstance(X * 2, AlgebraicDim)
    assert Dim(X) is X


@pytest.mark.parametrize("value", [None, 1.5, True, [1]])
def test_refuses(value: Any) -> None:
    with pytest.raises(TypeError, match="expected an int, a str or a Dim"):
        Dim(value)


def test_refuses_values_that_cannot_be_sizes() -> None:
    with pytest.raises(ShapeError, match="not empty"):
        Dim("")
    with pytest.raises(ShapeError, match="64 bits"):
        Dim(2**63)
    with pytest.raises(ShapeError, match="overflows"):
        _ = (X * 2**62) * 4


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda: X + 1 + 1, lambda: X + 2),
        (lambda: -X - 4, lambda: -(X + 4)),
        (lambda: X * Y, lambda: Y * X),
        (lambda: X * 2 + X, lambda: 3 * X),
        (lambda: (X + 1) * 4, lambda: X * 4 + 4),
        (lambda: X * 6 // 2, lambda: X * 3),
        (lambda: X * Y // Y, lambda: X),
        (lambda: (X * 8 + 4) // 4, lambda: X * 2 + 1),
        (lambda: X * 8 % 4, lambda: 0),
        (lambda: X - X, lambda: 0),
        (lambda: X + 0, lambda: "x"),
        (lambda: 1 * X, lambda: "x"),
        (lambda: (X + 3).ceildiv(1), lambda: X + 3),
        (lambda: (X + 3) // 4, lambda: (3 + X) // 4),
        (lambda: Dim(7) // 2, lambda: 3),
        (lambda: Dim(-7).ceildiv(2), lambda: -3),
        (lambda: 10 - Dim(3), lambda: 7),
        (lambda: AlgebraicDim.apply("add", "x", 1, "y"), lambda: Y + X + 1),
    ],
)
def test_equal(left: Any, right: Any) -> None:
    assert left() == right()
    assert hash(left()) == hash(right())


def test_not_equal() -> None:
    assert X != Y
    assert X + 1 != X
    assert Dim(1) != "1"
    assert X != 1


def test_text() -> None:
    assert str(Dim("batch") * 5) == "batch * 5"
    assert str(Dim("batch") * 5 + 1) == "batch * 5 + 1"
    assert str(Dim(4)) == "4" and repr(Dim(4)) == "Dim(4)"
    assert repr(X) == "Dim('x')"


def test_parameters() -> None:
    assert list((X * Y + X).parameters) == [X, Y]
    assert list(X.parameters) == [X]
    assert list(Dim(3).parameters) == []


def test_int() -> None:
    assert int(Dim(3)) == 3
    assert list(range(Dim(2))) == [0, 1]  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        ShapeError, match=r"test_dim\.py:\d+: int: expected a static dim, but got x"
    ):
        int(X)


def test_substitute() -> None:
    assert (X * 2 + Y).substitute({"x": 3, Y: "z"}) == Dim("z") + 6
    assert X.substitute({"x": Y}) == Y
    assert Dim(3).substitute({"x": 1}) == 3


def test_division_by_zero() -> None:
    for divide in (lambda: X // 0, lambda: X % 0, lambda: Dim(4) // 0):
        with pytest.raises(ZeroDivisionError):
            divide()


def test_round_trip_and_pickle() -> None:
    for dim in (Dim(3), X, X * Y // 3 + 1, Dim("not an identifier!")):
        assert Dim.from_mlir(dim.to_mlir()) == dim
        assert Dim(dim.to_mlir()) == dim
    assert pickle.loads(pickle.dumps([Dim(3), X])) == [Dim(3), X]


_NAMES = st.sampled_from(["a", "b", "c"])
_EXPRESSIONS = st.recursive(
    st.one_of(st.integers(-20, 20), _NAMES),
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner),
    max_leaves=8,
)


def _evaluate(expression: Any, leaf: Any) -> Any:
    if not isinstance(expression, tuple):
        return leaf(expression)
    op, left, right = expression
    a, b = _evaluate(left, leaf), _evaluate(right, leaf)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "//": lambda: a // b,
        "%": lambda: a % b,
    }[op]()


@given(_EXPRESSIONS, st.fixed_dictionaries({name: st.integers(1, 9) for name in "abc"}))
def test_algebra_is_that_of_integers(expression: Any, sizes: dict[str, int]) -> None:
    try:
        expected = _evaluate(expression, lambda leaf: sizes.get(leaf, leaf))
        dim = _evaluate(expression, Dim)
    except ZeroDivisionError:
        return
    assert dim.substitute(sizes) == expected
    assert Dim.from_mlir(dim.to_mlir()) == dim
