# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of float32: their errors against the table of docs/numerics.md, and that they are no calls."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, evaluate
from kvern.dtype import DType
from kvern.graph import Graph, ops
from kvern.graph.stages import stage

PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
BOUNDS = {
    name: float(ulp)
    for name, ulp in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|$", PAGE.read_text(), re.M)
}
BOUNDS_IDS = sorted(BOUNDS)

ORACLES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "atanh": np.arctanh,
    "acos": np.arccos,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
# Where a function bends most.
DENSE = {"exp": (-104, 89), "log": (0.5, 2), "log1p": (-0.99, 3), "acos": (-1, 1), "atanh": (-1, 1)}


def _sample(name: str) -> np.ndarray:
    every = np.arange(0, 2**32, 16411, dtype=np.uint64).astype(np.uint32).view(np.float32)
    if name in ("sin", "cos"):
        every = every[np.abs(every) < 2.0**45]
    if name == "acos":
        # The op clamps its argument.
        every = every[np.abs(every) <= 1]
    low, high = DENSE.get(name, (-6, 6))
    dense = np.linspace(low, high, 200_003).astype(np.float32)
    return np.concatenate([every, dense])


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units in the last place; infinite where one is not a number, or infinite, and the other is."""
    rounded = exact.astype(np.float32)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(rounded)).astype(np.float64)
    return np.where(np.isfinite(rounded) & np.isfinite(got), error, np.where(same, 0.0, np.inf))


def test_table():
    assert set(BOUNDS) == {*ORACLES, "pow"}


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_error(name: str):
    x = _sample(name)
    (got,) = evaluate(getattr(ops, name), x)
    with np.errstate(all="ignore"):
        error = ulps(got, ORACLES[name](x.astype(np.float64)))
    worst = int(np.argmax(error))
    assert error[worst] <= BOUNDS[name], f"{name}({x[worst]!r}) = {got[worst]!r}"


def test_pow():
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-30, 30, 200_000)).astype(np.float32)
    y = rng.uniform(-9, 9, x.size).astype(np.float32)
    (got,) = evaluate(lambda a, b: ops.pow(a, b), x, y)
    with np.errstate(all="ignore"):
        error = ulps(got, np.power(x.astype(np.float64), y.astype(np.float64)))
    assert error.max() <= BOUNDS["pow"]


def test_pow_of_special_values():
    values = [0, 1, 2, 3, 0.5, math.inf, 1e38, 1e-40, 2.0**24 + 2, 1e-30]
    special = np.array([*values, *(-v for v in values), math.nan], np.float32)
    x, y = (part.ravel() for part in np.meshgrid(special, special))
    (got,) = evaluate(lambda a, b: ops.pow(a, b), x, y)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        assert ulps(got, exact).max() <= 1.0
    numbers = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(exact[numbers]))


def test_gelu():
    x = np.linspace(-12, 12, 400_001).astype(np.float32)
    wide = x.astype(np.float64)
    erf, tanh = evaluate(lambda t: [ops.gelu(t), ops.gelu(t, "tanh")], x)
    bound = 2.0**-21 * np.maximum(1, np.abs(wide))
    assert (np.abs(erf - wide / 2 * (1 + ORACLES["erf"](wide / math.sqrt(2)))) <= bound).all()
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    assert (np.abs(tanh - wide / 2 * (1 + np.tanh(inner))) <= bound).all()


@pytest.mark.parametrize("dtype", [DType.float32, DType.bfloat16, DType.float16])
def test_no_calls(dtype: DType):
    """What the object code needs from outside is the runtime, not libm."""
    unary = [
        ops.exp,
        ops.log,
        ops.log1p,
        ops.tanh,
        ops.erf,
        ops.atanh,
        ops.sin,
        ops.cos,
        ops.sqrt,
        ops.rsqrt,
    ]
    unary += [ops.sigmoid, ops.silu, ops.gelu, ops.acos, ops.floor, ops.round, ops.softmax]
    with Graph("functions", input_types=[cpu_tensor(dtype, ["n", "m"])]) as graph:
        x = graph.inputs[0].tensor
        graph.output(*(fn(x) for fn in unary), ops.pow(x, x), ops.gelu(x, "tanh"))
    calls = set(re.findall(r"^\s+(?:callq?|jmp)\s+\*?(\w+)", stage(graph, "binary"), re.M))
    own = {call for call in calls if call.startswith(("kernel_", "kvern_", "graph_", "workspace_"))}
    registers = {"rax", "rcx", "rdx", "rbx", "rsi", "rdi", "rbp"} | {f"r{i}" for i in range(8, 16)}
    assert calls - own - registers - {"memcpy", "memset"} == set()
