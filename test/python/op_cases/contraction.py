# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import NUMBERS, Case, per_dtype, sample


def _matmul(label: str, lhs: Any, rhs: Any, dtype: DType = DType.float32, **kwargs: Any) -> Case:
    arrays = (sample(dtype, lhs), sample(dtype, rhs, seed=1))
    return Case("matmul", label, ops.matmul, np.matmul, [arrays], scale=2, **kwargs)


def _sizes(dtype: DType) -> Case:
    """One executable for all sizes: 0, 1, below, at and above the tiles."""
    sizes = [(1, 1, 1), (3, 5, 7), (0, 4, 3), (4, 0, 3), (4, 3, 0), (17, 33, 9), (1, 64, 31)]
    if dtype is DType.float32:
        sizes += [(65, 257, 47), (130, 70, 129)]
    return Case(
        "matmul",
        "sizes",
        ops.matmul,
        np.matmul,
        [(sample(dtype, [m, k]), sample(dtype, [k, n], seed=1)) for m, k, n in sizes],
        shapes=[["m", "k"], ["k", "n"]],
        scale=4,
    )


def _transposed() -> Case:
    """The product with a transposed weight, as in a linear layer."""
    sizes = [(1, 5), (3, 17), (70, 33)]
    arrays = [
        (sample(DType.float32, [2, m, k]), sample(DType.float32, [19, k], seed=1)) for m, k in sizes
    ]
    return Case(
        "matmul",
        "transposed",
        lambda x, w: x @ w.T,
        lambda x, w: x @ w.T,
        arrays,
        shapes=[[2, "m", "k"], [19, "k"]],
        scale=2,
    )


def _batched() -> Case:
    sizes = [(1, 1, 1), (2, 3, 5), (0, 2, 3), (3, 17, 9)]
    arrays = [
        (sample(DType.float32, [b, 2, m, 8]), sample(DType.float32, [b, 1, 8, n], seed=1))
        for b, m, n in sizes
    ]
    return Case(
        "matmul",
        "batched",
        ops.matmul,
        np.matmul,
        arrays,
        shapes=[["b", 2, "m", 8], ["b", 1, 8, "n"]],
        scale=2,
    )


CASES = [
    *per_dtype(NUMBERS, _sizes),
    _transposed(),
    _batched(),
    _matmul("vectors", [5], [5]),
    _matmul("vector-matrix", [5], [5, 3]),
    _matmul("matrix-vector", [3, 5], [5]),
    _matmul("vector-batch", [5], [2, 5, 3]),
    _matmul("shared-right", [2, 3, 5, 7], [7, 4]),
    _matmul("shared-left", [5, 7], [3, 2, 7, 4]),
    _matmul("broadcast", [2, 1, 3, 5], [1, 4, 5, 2]),
    _matmul("square", [96, 96], [96, 96]),
    Case(
        "outer",
        "",
        ops.outer,
        np.outer,
        [
            (sample(DType.float32, [m]), sample(DType.float32, [n], seed=1))
            for m, n in [(1, 1), (5, 3), (0, 2)]
        ],
        shapes=[["m"], ["n"]],
    ),
]
