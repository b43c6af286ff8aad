# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import ALL, FLOATS, NUMBERS, Case, extremes, per_dtype, sample

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _gelu_tanh(x: Any) -> Any:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# Name, oracle, lowest and highest input, dtypes.
_UNARY: list[tuple[str, Callable[[Any], Any], float, float, tuple[DType, ...]]] = [
    ("abs", np.abs, -9, 9, NUMBERS),
    ("acos", lambda x: np.arccos(np.clip(x, -1, 1)), -1.5, 1.5, FLOATS),
    ("atanh", np.arctanh, -0.9, 0.9, FLOATS),
    ("ceil", np.ceil, -9, 9, FLOATS),
    ("cos", np.cos, -9, 9, FLOATS),
    ("erf", _erf, -4, 4, FLOATS),
    ("exp", np.exp, -10, 10, FLOATS),
    ("floor", np.floor, -9, 9, FLOATS),
    ("gelu", lambda x: x / 2 * (1 + _erf(x / math.sqrt(2))), -6, 6, FLOATS),
    ("is_inf", np.isinf, -9, 9, FLOATS),
    ("is_nan", np.isnan, -9, 9, FLOATS),
    ("log", np.log, 0.01, 99, FLOATS),
    ("log1p", np.log1p, -0.9, 9, FLOATS),
    ("logical_not", np.logical_not, 0, 1, (DType.bool,)),
    ("negate", np.negative, -9, 9, NUMBERS),
    ("relu", lambda x: np.maximum(x, x.dtype.type(0)), -9, 9, NUMBERS),
    ("round", np.rint, -9, 9, FLOATS),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 0.01, 99, FLOATS),
    ("sigmoid", _sigmoid, -12, 12, FLOATS),
    ("silu", lambda x: x / (1 + np.exp(-x)), -12, 12, FLOATS),
    ("sin", np.sin, -9, 9, FLOATS),
    ("sqrt", np.sqrt, 0, 99, FLOATS),
    ("tanh", np.tanh, -9, 9, FLOATS),
    ("trunc", np.trunc, -9, 9, FLOATS),
]
# Sizes of the named axis: one run each; the odd ones make loops with a rest.
_SIZES = (0, 1, 5, 37)


def _unary(name: str, oracle: Callable[[Any], Any], low: float, high: float, dtype: DType) -> Case:
    bindings = [(sample(dtype, [n, 3], low, high),) for n in _SIZES]
    numbers = extremes(dtype)
    if name in ("sin", "cos") and dtype is not DType.float64:
        # Beyond 1e15 neighbouring floats are whole turns apart; there is no number to get right.
        numbers = numbers[~(np.abs(numbers.astype(np.float64)) > 1e15) | np.isinf(numbers)]
    bindings.append((np.repeat(numbers[:, None], 3, axis=1),))
    return Case(name, "", getattr(ops, name), oracle, bindings, shapes=[["n", 3]])


def _rounding() -> list[Case]:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.5], np.float32)
    names = {"round": np.rint, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc}
    return [Case(n, "halves", getattr(ops, n), fn, [(halves,)]) for n, fn in names.items()]


def _near_zero(name: str, oracle: Callable[[Any], Any], dtype: DType) -> Case:
    """The quotient f(x) / x shows what is left of the relative accuracy."""
    x = np.geomspace(1e-20, 1e-2, 41).astype(dtype.to_numpy())
    fn = getattr(ops, name)
    return Case(name, "near-zero", lambda t: fn(t) / t, lambda t: oracle(t) / t, [(x,)])


def _far(name: str, oracle: Callable[[Any], Any], dtype: DType) -> Case:
    x = np.concatenate([sample(dtype, [37], -(10.0**e), 10.0**e) for e in (2, 3, 4, 5, 8, 14)])
    return Case(name, "far", getattr(ops, name), oracle, [(x,)])


def _cast_oracle(target: DType) -> Callable[[Any], Any]:
    kind = target.to_ml_dtypes()

    def oracle(x: Any) -> Any:
        if target is DType.bool:
            return x != 0
        if target.is_integral() and x.dtype.kind == "f":
            info = np.iinfo(kind)
            whole = np.nan_to_num(np.trunc(x), nan=0.0, posinf=np.inf, neginf=-np.inf)
            low, high = whole <= float(info.min), whole >= float(info.max)
            inside = np.where(low | high, 0, whole).astype(kind)
            return np.where(low, info.min, np.where(high, info.max, inside)).astype(kind)
        return x.astype(kind)

    return oracle


def _cast(source: DType, target: DType) -> Case:
    numbers = np.concatenate([extremes(source), sample(source, [37], -300, 300)])
    return Case(
        "cast",
        f"{source.name}-{target.name}",
        lambda x: ops.cast(x, target),
        _cast_oracle(target),
        [(numbers[:0],), (numbers,)],
        shapes=[["n"]],
    )


CASES: list[Case] = [
    case
    for name, oracle, low, high, dtypes in _UNARY
    for case in per_dtype(dtypes, lambda d, args=(name, oracle, low, high): _unary(*args, d))
]
CASES += _rounding()
for _name, _oracle in [
    ("log1p", np.log1p),
    ("sin", np.sin),
    ("tanh", np.tanh),
    ("erf", _erf),
    ("atanh", np.arctanh),
]:
    _dtypes = (DType.float32, DType.float64)
    CASES += per_dtype(_dtypes, lambda d, n=_name, o=_oracle: _near_zero(n, o, d))
for _name, _oracle in [("sin", np.sin), ("cos", np.cos)]:
    CASES += per_dtype(_dtypes, lambda d, n=_name, o=_oracle: _far(n, o, d))
CASES += [_cast(source, target) for source in ALL for target in (*ALL, DType.int8, DType.uint16)]
CASES += [
    Case(
        "gelu",
        "tanh",
        lambda x: ops.gelu(x, "tanh"),
        _gelu_tanh,
        [(sample(DType.float32, [37], -6, 6),)],
    ),
    Case(
        "gelu",
        "quick",
        lambda x: ops.gelu(x, "quick"),
        lambda x: x * _sigmoid(1.702 * x),
        [(sample(DType.float32, [37], -6, 6),)],
    ),
    Case("exp", "scalar", ops.exp, np.exp, [(np.float32(1.5).reshape(()),)]),
    Case("tanh", "long", ops.tanh, np.tanh, [(sample(DType.float32, [1037]),)]),
]
