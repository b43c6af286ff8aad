# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of two or three operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import ALL, NUMBERS, Case, extremes, per_dtype, sample


def _floor_div(x: Any, y: Any) -> Any:
    return np.floor(x / y) if x.dtype.kind == "f" else np.floor_divide(x, y)


def _mod(x: Any, y: Any) -> Any:
    return np.mod(x, y)


def _pow(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.power(x, y)
    negative = y < 0
    power = np.power(x, np.where(negative, 0, y).astype(y.dtype))
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0))
    return np.where(negative, inverse, power).astype(x.dtype)


def _div(x: Any, y: Any) -> Any:
    return x.astype(np.float64) / y.astype(np.float64)


_BINARY: list[tuple[str, Callable[..., Any], tuple[DType, ...]]] = [
    ("add", np.add, NUMBERS),
    ("sub", np.subtract, NUMBERS),
    ("mul", np.multiply, NUMBERS),
    ("div", _div, NUMBERS),
    ("max", np.maximum, NUMBERS),
    ("min", np.minimum, NUMBERS),
    ("equal", np.equal, ALL),
    ("not_equal", np.not_equal, ALL),
    ("greater", np.greater, NUMBERS),
    ("greater_equal", np.greater_equal, NUMBERS),
    ("logical_and", np.logical_and, (DType.bool,)),
    ("logical_or", np.logical_or, (DType.bool,)),
    ("logical_xor", np.logical_xor, (DType.bool,)),
]


def _pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Each extreme number with each other one, as a column and a row that broadcast."""
    numbers = extremes(dtype)
    return numbers[:, None], numbers[None, :]


def _broadcasting(name: str, oracle: Callable[..., Any], dtype: DType) -> Case:
    bindings = [(sample(dtype, [n, 3]), sample(dtype, [3], seed=1)) for n in (0, 1, 37)]
    # The reductions of these names have the plain labels.
    label = "binary" if name in ("max", "min") else ""
    return Case(name, label, getattr(ops, name), oracle, bindings, shapes=[["n", 3], [3]])


def _extreme(name: str, oracle: Callable[..., Any], dtype: DType) -> Case:
    return Case(name, "extremes", getattr(ops, name), oracle, [_pairs(dtype)])


def _shapes(lhs: list[int], rhs: list[int]) -> Case:
    arrays = (sample(DType.float32, lhs), sample(DType.float32, rhs, seed=1))
    return Case("sub", f"{lhs}-{rhs}", ops.sub, np.subtract, [arrays])


def _division(name: str, oracle: Callable[..., Any], dtype: DType) -> Case:
    """No quotients that are nearly whole: rounding may go either way there."""
    lhs = sample(dtype, [37, 3], -9, 9)
    rhs = np.array([[-4, 2, 0.5]] if dtype.is_float() else [[4, 0, 3]]).astype(lhs.dtype)
    if dtype.is_signed_integral():
        rhs[0, 0] = -4
    return Case(name, "", getattr(ops, name), oracle, [(lhs, rhs)])


def _power(dtype: DType) -> Case:
    if dtype.is_float():
        lhs, rhs = sample(dtype, [37, 1], 0.1, 3), sample(dtype, [5], -3, 3)
    else:
        lhs, rhs = sample(dtype, [37, 1], -3, 3), np.array([0, 1, 2, 5, 3]).astype(dtype.to_numpy())
    return Case("pow", "", ops.pow, _pow, [(lhs, rhs)])


def _scalar(name: str, value: float, oracle: Callable[..., Any]) -> Case:
    x = sample(DType.float32, [5, 3])
    fn = getattr(ops, name)
    return Case(name, "numbers", lambda t: [fn(t, value), fn(value, t)], oracle, [(x,)])


def _promotion() -> list[Case]:
    cases = [
        (DType.float32, DType.float64),
        (DType.int32, DType.int64),
        (DType.uint8, DType.int64),
        (DType.bool, DType.float32),
        (DType.float16, DType.float32),
    ]
    return [
        Case("mul", f"{a.name}-{b.name}", ops.mul, np.multiply, [(sample(a, [7]), sample(b, [7]))])
        for a, b in cases
    ]


def _where(dtype: DType) -> Case:
    arrays = [
        (sample(DType.bool, [n, 1]), sample(dtype, [n, 5]), sample(dtype, [5], seed=1))
        for n in (0, 1, 37)
    ]
    return Case("where", "", ops.where, np.where, arrays, shapes=[["n", 1], ["n", 5], [5]])


CASES: list[Case] = []
for _name, _oracle, _dtypes in _BINARY:
    CASES += per_dtype(_dtypes, lambda d, n=_name, o=_oracle: _broadcasting(n, o, d))
    CASES += per_dtype(_dtypes, lambda d, n=_name, o=_oracle: _extreme(n, o, d))
CASES += per_dtype(NUMBERS, lambda d: _division("floor_div", _floor_div, d))
CASES += per_dtype(NUMBERS, lambda d: _division("mod", _mod, d))
CASES += per_dtype(NUMBERS, _power)
CASES += per_dtype(ALL, _where)
CASES += _promotion()
CASES += [
    _shapes([], []),
    _shapes([1], [1]),
    _shapes([5, 1, 3], [7, 1]),
    _shapes([1, 1], [4, 7]),
    _shapes([0, 3], [1, 3]),
    _shapes([1, 0], [5, 1]),
    _shapes([17, 33], [17, 33]),
    _shapes([1037], []),
    _scalar("add", 0.5, lambda x: [x + 0.5, 0.5 + x]),
    _scalar("sub", 2, lambda x: [x - 2, 2 - x]),
    _scalar("div", 4.0, lambda x: [x / 4, 4 / x]),
    _scalar("max", 0.25, lambda x: [np.maximum(x, 0.25)] * 2),
    Case(
        "pow",
        "negative-exponents",
        ops.pow,
        _pow,
        [(np.array([[-2], [-1], [0], [1], [2]], np.int32), np.array([-3, -2, -1], np.int32))],
    ),
    Case(
        "floor_div",
        "lowest",
        ops.floor_div,
        np.floor_divide,
        [(np.array([-(2**31), -(2**31), 7, -7], np.int32), np.array([-1, 0, -2, 2], np.int32))],
    ),
    Case(
        "mod",
        "lowest",
        ops.mod,
        np.mod,
        [(np.array([-(2**31), -(2**31), 7, -7], np.int32), np.array([-1, 0, -2, 2], np.int32))],
    ),
    Case(
        "add",
        "operators",
        lambda x, y: [
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            abs(x),
            x < y,
            x <= y,
            x > y,
            x >= y,
            x == y,
            x != y,
        ],
        lambda x, y: [
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            abs(x),
            x < y,
            x <= y,
            x > y,
            x >= y,
            x == y,
            x != y,
        ],
        [(sample(DType.float32, [5, 3]), sample(DType.float32, [5, 3], seed=1))],
    ),
    Case(
        "logical_and",
        "operators",
        lambda x, y: [x & y, x | y, x ^ y, ~x],
        lambda x, y: [operator.and_(x, y), operator.or_(x, y), operator.xor(x, y), ~x],
        [(np.array([True, True, False, False]), np.array([True, False, True, False]))],
    ),
]
