# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import FLOATS, NUMBERS, Case, extremes, per_dtype, sample


def _wrapping(reduce: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """A NumPy reduction in the element type."""
    return lambda x, axis: reduce(x, axis=axis, keepdims=True, dtype=x.dtype)


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _logsoftmax(x: Any, axis: int) -> Any:
    y = x - x.max(axis, keepdims=True)
    return y - np.log(np.exp(y).sum(axis, keepdims=True))


def _keep(reduce: Callable[..., Any]) -> Callable[[Any, int], Any]:
    return lambda x, axis: reduce(x, axis=axis, keepdims=True)


_REDUCTIONS: list[tuple[str, Callable[[Any, int], Any], tuple[DType, ...]]] = [
    ("sum", _wrapping(np.sum), NUMBERS),
    ("mean", _keep(np.mean), FLOATS),
    ("prod", _wrapping(np.prod), NUMBERS),
    ("max", _keep(np.max), NUMBERS),
    ("min", _keep(np.min), NUMBERS),
    ("argmax", _keep(np.argmax), NUMBERS),
    ("argmin", _keep(np.argmin), NUMBERS),
    ("softmax", _softmax, FLOATS),
    ("logsoftmax", _logsoftmax, FLOATS),
]
# What an empty axis gives.
_EMPTY = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "mean": np.nan}


def _call(name: str, axis: int) -> Callable[[Any], Any]:
    fn = getattr(ops, name)
    return lambda x: fn(x, axis=axis)


def _both_axes(name: str, oracle: Callable[[Any, int], Any], dtype: DType) -> Case:
    """The last axis and the one before it, of a shape known only at run time."""
    low, high = (0.5, 1.5) if name == "prod" else (-3, 3)
    shapes = [(1, 1, 1), (3, 5, 37), (2, 17, 1), (0, 4, 3)]
    return Case(
        name,
        "",
        lambda x: [_call(name, -1)(x), _call(name, 1)(x)],
        lambda x: [oracle(x, 2), oracle(x, 1)],
        [(sample(dtype, shape, low, high),) for shape in shapes],
        shapes=[["a", "b", "c"]],
    )


def _empty(name: str) -> Case:
    value = _EMPTY[name]
    return Case(
        name,
        "empty-axis",
        _call(name, 1),
        lambda x: np.full((x.shape[0], 1), value),
        [(np.zeros((3, 0), np.float32),)],
        shapes=[["n", "m"]],
    )


def _first_axis(name: str, oracle: Callable[[Any, int], Any]) -> Case:
    x = sample(DType.float32, [7, 3, 5], 0.5, 1.5)
    return Case(name, "first-axis", _call(name, 0), lambda x: oracle(x, 0), [(x,)])


def _long(name: str, oracle: Callable[[Any, int], Any]) -> Case:
    x = sample(DType.float32, [2, 4099], 0, 1)
    return Case(name, "long", _call(name, 1), lambda x: oracle(x, 1), [(x,)])


def _extreme(name: str, oracle: Callable[[Any, int], Any]) -> Case:
    """Each row holds one NaN or infinity among others."""
    rows = np.tile(sample(DType.float32, [11]), (9, 1))
    rows[np.arange(9), [0, 1, 2, 3, 5, 7, 8, 9, 10]] = extremes(DType.float32)[:9]
    return Case(name, "extremes", _call(name, 1), lambda x: oracle(x, 1), [(rows,)])


def _stable(name: str, oracle: Callable[[Any, int], Any]) -> Case:
    x = np.array([[1000, 1001, 1002], [-1000, -1001, -1e30], [88, 89, 90]], np.float32)
    return Case(name, "large", _call(name, 1), lambda x: oracle(x, 1), [(x,)])


def _ties(name: str) -> Case:
    x = np.array([[1, 3, 3, 1, 1], [2, 2, 2, 2, 2]], np.float32)
    return Case(name, "ties", _call(name, 1), lambda x: _keep(getattr(np, name))(x, 1), [(x,)])


def _masked_softmax() -> Case:
    x = np.array([[0, -np.inf, 1, -np.inf], [-np.inf, 2, -np.inf, -np.inf]], np.float32)
    return Case("softmax", "masked", _call("softmax", 1), lambda x: _softmax(x, 1), [(x,)])


CASES: list[Case] = []
for _name, _oracle, _dtypes in _REDUCTIONS:
    CASES += per_dtype(_dtypes, lambda d, n=_name, o=_oracle: _both_axes(n, o, d))
    CASES.append(_first_axis(_name, _oracle))
    if _name not in ("prod", "argmax", "argmin"):
        CASES.append(_long(_name, _oracle))
    if _name in ("sum", "max", "min", "argmax", "argmin"):
        CASES.append(_extreme(_name, _oracle))
CASES += [_empty(name) for name in _EMPTY]
CASES += [_stable("softmax", _softmax), _stable("logsoftmax", _logsoftmax), _masked_softmax()]
CASES += [_ties("argmax"), _ties("argmin")]
