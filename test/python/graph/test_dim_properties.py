# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Properties of the algebra of dims: it is that of Python's integers, and equal sizes are one attribute."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvern.errors import ShapeError
from kvern.graph import Dim
from kvern.graph._mlir import bindings

NAMES = ("a", "b", "long name", "mod")
# As nested tuples: (operation, left, right), a number or a name.
EXPRESSIONS = st.recursive(
    st.one_of(
        st.sampled_from(NAMES), st.integers(-12, 12), st.sampled_from([2**31, -(2**31), 2**62])
    ),
    lambda inner: st.tuples(
        st.sampled_from(["add", "add", "sub", "mul", "floordiv", "mod", "ceildiv"]), inner, inner
    ),
    max_leaves=10,
)
SIZES = st.fixed_dictionaries({name: st.integers(0, 40) for name in NAMES})

PYTHON = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def evaluate(expression: Any, leaf: Any) -> Any:
    if not isinstance(expression, tuple):
        return leaf(expression)
    op, left, right = expression
    a, b = evaluate(left, leaf), evaluate(right, leaf)
    if op == "ceildiv":
        return a.ceildiv(b) if isinstance(a, Dim) else -(-a // b)
    return PYTHON[op](a, b)


def as_dim(expression: Any) -> Dim | None:
    """The dim, or None where it overflows or divides by zero."""
    try:
        return evaluate(expression, Dim)
    except (ZeroDivisionError, ShapeError):
        return None


def parse(text: str) -> Dim:
    mlir = bindings()
    return Dim.from_mlir(mlir.ir.Attribute.parse(f"#kvern.dim<{text}>", mlir.context))


def attr_text(dim: Dim) -> str:
    return str(dim.to_mlir()).removeprefix("#kvern.dim<").removesuffix(">")


@given(EXPRESSIONS, SIZES)
def test_values_are_those_of_integers(expression: Any, sizes: dict[str, int]) -> None:
    dim = as_dim(expression)
    if dim is None:
        return
    try:
        expected = evaluate(expression, lambda leaf: sizes.get(leaf, leaf))
    except ZeroDivisionError:
        return
    try:
        assert dim.substitute(sizes) == expected
    except ShapeError:
        # A part of it leaves 64 bits, be it the value or a product on the way.
        assert abs(expected) >= 2**31


@given(EXPRESSIONS)
def test_text_round_trips(expression: Any) -> None:
    dim = as_dim(expression)
    if dim is not None:
        assert parse(attr_text(dim)) == dim
        assert attr_text(parse(attr_text(dim))) == attr_text(dim)


def plain(*expressions: Any) -> list[Dim] | None:
    """The dims of expressions, when all of them exist."""
    dims = [as_dim(expression) for expression in expressions]
    return None if None in dims else dims  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    "identity",
    [
        lambda x, y, z: (x + y, y + x),
        lambda x, y, z: ((x + y) + z, x + (y + z)),
        lambda x, y, z: (x * y, y * x),
        lambda x, y, z: ((x * y) * z, x * (y * z)),
        lambda x, y, z: (x * (y + z), x * y + x * z),
        lambda x, y, z: (x - y, x + -y),
        lambda x, y, z: (x - x, Dim(0)),
        lambda x, y, z: (-x - 4, -(x + 4)),
        lambda x, y, z: (x + 1 + 1, x + 2),
        lambda x, y, z: (x * 6 // 2, x * 3),
        lambda x, y, z: (x % 7, x - x // 7 * 7),
        lambda x, y, z: ((x + 7 * y) % 7, x % 7),
        lambda x, y, z: ((x + 7 * y) // 7, x // 7 + y),
        lambda x, y, z: (x.ceildiv(3), -(-x // 3)),
        lambda x, y, z: (x.ceildiv(4), (x + 3) // 4),
        lambda x, y, z: ((x * 2 + 1) // 6, x // 3),
        lambda x, y, z: (x // -5, -x // 5),
        lambda x, y, z: ((x * (Dim("a") + 1) + y) // (Dim("a") + 1), x + y // (Dim("a") + 1)),
    ],
)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
@settings(max_examples=40)
def test_identities(identity: Any, x: Any, y: Any, z: Any) -> None:
    dims = plain(x, y, z)
    if dims is None:
        return
    try:
        left, right = identity(*dims)
    except ShapeError:
        return
    assert left == right
    assert hash(left) == hash(right)
    assert attr_text(left) == attr_text(right)


@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
def test_substitution_is_construction(outer: Any, first: Any, second: Any) -> None:
    """Names replaced in the result are names replaced in what it is made of."""
    dims = plain(outer, first, second)
    if dims is None:
        return
    dim, *replacements = dims
    mapping = dict(zip(NAMES, replacements, strict=False))
    expected = None
    try:
        expected = evaluate(outer, lambda leaf: mapping.get(leaf, Dim(leaf)))
        found = dim.substitute(mapping)
    except (ZeroDivisionError, ShapeError):
        return
    assert found == expected


@given(EXPRESSIONS)
def test_renaming_is_invertible(expression: Any) -> None:
    dim = as_dim(expression)
    if dim is None:
        return
    # Names change their order as well.
    there = {"a": "z", "b": "y", "long name": "a0", "mod": "b"}
    back = {new: old for old, new in there.items()}
    assert dim.substitute(there).substitute(back) == dim
    assert {str(name) for name in dim.substitute(there).parameters} == {
        there[str(name)] for name in dim.parameters
    }


@given(EXPRESSIONS)
def test_parameters_are_those_that_matter(expression: Any) -> None:
    dim = as_dim(expression)
    if dim is not None:
        for name in NAMES:
            if name not in {str(parameter) for parameter in dim.parameters}:
                assert dim.substitute({name: 5}) == dim


def test_length_is_bounded() -> None:
    product = Dim(1)
    with pytest.raises(ShapeError, match="too long"):
        for i in range(20):
            product = product * (Dim(f"a{i}") + Dim(f"b{i}"))
    nested = Dim("n")
    with pytest.raises(ShapeError, match="too long"):
        for _ in range(40):
            nested = (nested + 1) // "a"


def test_divisions_of_convolutions() -> None:
    """A size that is halved many times, by windows with and without padding, stays short."""
    size = expected = Dim("height")
    for _ in range(16):
        size = (size + 2 * 1 - 3) // 2 + 1
        expected = expected.ceildiv(2)
    assert size == expected == Dim("height").ceildiv(2**16)
    assert str(size) == "(height + 65535) floordiv 65536"
