# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices, and elements by index."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import ALL, Case, per_dtype, sample

F32 = DType.float32


def _slices(label: str, index: Any, *shapes: Any, dims: Any = None, expected: Any = None) -> Case:
    """Slices that mean the same in NumPy, unless `expected` says what they mean."""
    return Case(
        "slice_tensor",
        label,
        lambda x: ops.slice_tensor(x, index),
        lambda x: x[index if expected is None else expected],
        [(sample(F32, shape),) for shape in shapes],
        shapes=None if dims is None else [dims],
    )


def _gather(dtype: DType) -> Case:
    indices = np.array([[0, 2], [-1, 4], [-5, 3]])
    return Case(
        "gather",
        "",
        lambda x, i: [ops.gather(x, i, axis=0), ops.gather(x, i, axis=-1)],
        lambda x, i: [np.take(x, i, 0), np.take(x, i, -1)],
        [(sample(dtype, [5, 5]), indices), (sample(dtype, [5, 5]), indices[:0])],
        shapes=[[5, 5], ["n", 2]],
    )


def _run_time_bounds() -> list[Case]:
    x = [sample(F32, shape) for shape in [(6, 3), (9, 3), (6, 3), (6, 3)]]
    starts = [1, 0, -4, 6]
    stops = [4, 9, -1, 6]
    bindings = [
        (a, np.array(start, np.int64), np.array(stop, np.int64))
        for a, start, stop in zip(x, starts, stops, strict=True)
    ]
    return [
        Case(
            "slice_tensor",
            "run-time",
            lambda x, a, b: x[(slice(a, b), "k")],
            lambda x, a, b: x[int(a) : int(b)],
            bindings,
            shapes=[["n", 3], [], []],
        ),
        Case(
            "slice_tensor",
            "run-time-index",
            lambda x, i: x[i],
            lambda x, i: x[int(i)],
            [(sample(F32, [5, 3]), np.array(i, np.int64)) for i in (0, 4, -1, -5)],
            shapes=[["n", 3], []],
        ),
    ]


def _band(label: str, *args: Any, oracle: Any) -> Case:
    return Case(
        "band_part",
        label,
        lambda x: ops.band_part(x, *args),
        oracle,
        [(sample(F32, shape),) for shape in [(2, 3, 5), (1, 7, 4), (1, 1, 1)]],
        shapes=[["b", "m", "n"]],
    )


CASES = [
    *per_dtype(ALL, _gather),
    Case(
        "gather",
        "int32-indices",
        lambda x, i: ops.gather(x, i, axis=1),
        lambda x, i: np.take(x, i, 1),
        [
            (sample(F32, [n, 7, 3]), np.arange(k, dtype=np.int32) % 7)
            for n, k in [(1, 1), (2, 9), (0, 2)]
        ],
        shapes=[["n", 7, 3], ["k"]],
    ),
    Case(
        "gather",
        "scalar-index",
        lambda x, i: ops.gather(x, i, axis=0),
        lambda x, i: x[int(i)],
        [(sample(F32, [5, 3]), np.array(i)) for i in (0, -1)],
    ),
    Case(
        "gather",
        "embedding",
        lambda x, i: ops.gather(x, i, axis=0),
        lambda x, i: x[i],
        [(sample(F32, [30, 8]), np.arange(b * s).reshape(b, s) % 30) for b, s in [(1, 1), (3, 11)]],
        shapes=[[30, 8], ["b", "s"]],
    ),
    _slices("index", 0, (2, 4, 8)),
    _slices("columns", (slice(None), slice(1, 3)), (2, 4, 8), (1, 4, 8), dims=["n", 4, 8]),
    _slices("last-row", (slice(None), -1), (2, 4, 8), (0, 4, 8), dims=["n", 4, 8]),
    _slices("last-element", (..., -1), (2, 4, 8), (5, 4, 8), dims=["n", 4, 8]),
    _slices("steps", (slice(None, None, 2), slice(1, None, 3)), (7, 8)),
    _slices("backwards", (slice(None, None, -1), slice(6, 1, -2)), (3, 8)),
    _slices("clipped", (slice(1, 100), slice(-100, 2)), (3, 8)),
    _slices("empty", (slice(2, 2), slice(5, 1)), (3, 8)),
    _slices("new-axis", (None, slice(None), None, 0), (3, 8)),
    _slices("everything", ..., (3, 8)),
    _slices("named-tail", slice(-2, None), (3, 4), (2, 4), (9, 4), dims=["n", 4]),
    _slices("named-head", slice(None, -1), (3, 4), (1, 4), dims=["n", 4]),
    _slices("named-steps", slice(None, None, 2), (3, 4), (4, 4), (1, 4), dims=["n", 4]),
    *_run_time_bounds(),
    _band("all", oracle=lambda x: x),
    _band("lower", None, 0, oracle=np.tril),
    _band("upper", 0, None, oracle=np.triu),
    _band("band", 1, 1, oracle=lambda x: np.tril(np.triu(x, -1), 1)),
    _band("excluded", None, 0, True, oracle=lambda x: np.triu(x, 1)),
]
