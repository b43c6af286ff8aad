# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products against float64, for every schedule and every end of an axis.

One executable has a graph for each right operand, all with a symbolic number of rows. Large ones are weights,
which are packed; others are inputs. Rows go from none to past several register tiles, one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compiling import cpu_tensor, run, session
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, Module, ops
from tolerances import assert_close

NUMPY = {
    DType.float32: np.dtype(np.float32),
    DType.float16: np.dtype(np.float16),
    DType.bfloat16: np.dtype(ml_dtypes.bfloat16),
}
# Around the tiles of AVX-512, AVX2 and NEON, then around blocks of rows.
ROWS = [*range(38), 41, 42, 43, 47, 48, 49, 55, 56, 57, 69, 70, 131, 191, 193, 377, 379]
FEW_ROWS = [0, 1, 2, 3, 4, 5, 8, 9, 13, 14, 15, 29, 70]

f32, f16, bf16 = DType.float32, DType.float16, DType.bfloat16
# dtype, columns, summed size. Panels of 32, 16 and 8 columns; blocks of 256 or more summed elements.
WEIGHTS = [
    (f32, 64, 64),
    (f32, 90, 65),
    (f32, 127, 33),
    (f32, 288, 515),
    (f32, 32, 1024),
    (bf16, 90, 65),
    (bf16, 64, 300),
    (f16, 90, 65),
    (f16, 64, 300),
]
# Multiplied by rows of f32.
WIDENED = [(bf16, 90, 65), (bf16, 288, 515), (f16, 64, 300)]
INPUTS = [
    (f32, 1, 1),
    (f32, 17, 70),
    (f32, 70, 17),
    (bf16, 33, 19),
    (f16, 33, 19),
]


def matrix(dtype: DType, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([*shape, seed])
    return rng.standard_normal(shape, np.float32).astype(NUMPY[dtype])


def weight(dtype: DType, columns: int, depth: int) -> np.ndarray:
    return matrix(dtype, columns, depth, seed=1)


def transposed_weight(dtype: DType, columns: int, depth: int) -> Any:
    return ops.constant(weight(dtype, columns, depth), dtype, DeviceRef.CPU()).T


def name_of(*parts: Any) -> str:
    return "_".join(str(p.name if isinstance(p, DType) else p) for p in parts)


def build(name: str, types: list[Any], body: Callable[..., Any], module: Module) -> None:
    with Graph(name, input_types=types, module=module) as graph:
        graph.output(body(*(value.tensor for value in graph.inputs)))


@functools.cache
def models() -> dict[str, Any]:
    module = Module()
    for dtype, n, k in WEIGHTS:
        build(
            name_of("weight", dtype, n, k),
            [cpu_tensor(dtype, ["m", k])],
            lambda x, w=(dtype, n, k): x @ transposed_weight(*w),
            module,
        )
    for dtype, n, k in WIDENED:
        build(
            name_of("widened", dtype, n, k),
            [cpu_tensor(f32, ["m", k])],
            lambda x, w=(dtype, n, k): x @ transposed_weight(*w).cast(f32),
            module,
        )
    for dtype, n, k in INPUTS:
        build(
            name_of("rows", dtype, n, k),
            [cpu_tensor(dtype, ["m", k]), cpu_tensor(dtype, [n, k])],
            lambda x, y: x @ y.T,
            module,
        )
        build(
            name_of("columns", dtype, n, k),
            [cpu_tensor(dtype, ["m", k]), cpu_tensor(dtype, [k, n])],
            lambda x, y: x @ y,
            module,
        )
    any_size = [cpu_tensor(f32, ["m", "k"]), cpu_tensor(f32, ["n", "k"])]
    build("any_size", any_size, lambda x, y: x @ y.T, module)
    build(
        "transposed",
        [cpu_tensor(f32, [65, "m"])],
        lambda x: x.T @ transposed_weight(f32, 90, 65),
        module,
    )
    build(
        "epilogue",
        [cpu_tensor(f32, ["b", "m", 65])],
        lambda x: ops.relu(x @ transposed_weight(f32, 90, 65) + 1.0),
        module,
    )
    return session().load_all(module)


def check(name: str, arrays: list[np.ndarray], expected: np.ndarray, depth: int) -> None:
    assert_close(run(models()[name], arrays)[0], expected, scale=max(1.0, depth**0.5))


@pytest.mark.parametrize(("dtype", "n", "k"), WEIGHTS)
def test_weights(dtype: DType, n: int, k: int) -> None:
    w = weight(dtype, n, k).astype(np.float64)
    for m in ROWS if dtype == f32 else FEW_ROWS:
        x = matrix(dtype, m, k)
        check(name_of("weight", dtype, n, k), [x], x.astype(np.float64) @ w.T, k)


@pytest.mark.parametrize(("dtype", "n", "k"), WIDENED)
def test_widened_weights(dtype: DType, n: int, k: int) -> None:
    """As near to the result as with weights of f32: they are widened without rounding."""
    w = weight(dtype, n, k).astype(np.float64)
    for m in ROWS:
        x = matrix(f32, m, k)
        check(name_of("widened", dtype, n, k), [x], x.astype(np.float64) @ w.T, k)


@pytest.mark.parametrize(("dtype", "n", "k"), INPUTS)
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_inputs(dtype: DType, n: int, k: int, order: str) -> None:
    y = matrix(dtype, n, k, seed=2)
    stored = y if order == "rows" else np.ascontiguousarray(y.T)
    for m in ROWS if dtype == f32 else FEW_ROWS:
        x = matrix(dtype, m, k)
        product = x.astype(np.float64) @ y.astype(np.float64).T
        check(name_of(order, dtype, n, k), [x, stored], product, k)


def test_any_size() -> None:
    """Sizes from 1 to 70 along each axis, and none."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 71, (300, 3)).tolist()
    sizes += [(m, 9, 5) for m in (0, 1, 9)] + [(9, 0, 5), (9, 5, 0), (1, 5, 0)]
    for m, n, k in sizes:
        x, y = matrix(f32, m, k), matrix(f32, n, k, seed=2)
        check("any_size", [x, y], x.astype(np.float64) @ y.astype(np.float64).T, k)


def test_transposed() -> None:
    w = weight(f32, 90, 65).astype(np.float64)
    for m in FEW_ROWS:
        x = matrix(f32, 65, m)
        check("transposed", [x], x.T.astype(np.float64) @ w.T, 65)


def test_batches_are_rows() -> None:
    w = weight(f32, 90, 65).astype(np.float64)
    for batch in (0, 1, 3):
        for m in FEW_ROWS:
            x = matrix(f32, batch, m, 65)
            check("epilogue", [x], np.maximum(x.astype(np.float64) @ w.T + 1.0, 0.0), 65)
