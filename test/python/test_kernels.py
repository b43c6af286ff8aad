# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of several ops and loops over vectors: every small size, views as inputs, results of several ops."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from compiling import compile_graphs, cpu_tensor, evaluate, run, session
from kvern.dtype import DType
from kvern.errors import ArtifactError
from kvern.graph import Graph, Module, ops
from kvern.graph._compile import compile_graph_module
from kvern.graph.stages import stage
from tolerances import assert_close

F32 = DType.float32
FLOATS = [DType.float32, DType.float16, DType.bfloat16, DType.float64]
SIZES = [*range(1, 35), 47, 48, 49, 63, 64, 65, 66, 67, 68, 69, 70, 127, 129, 257]


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _rms(x: Any, w: Any) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def _layer(x: Any, w: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + w


def _silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


# Name: what is staged from x [n, m] and w [m], and the same in NumPy.
CHAINS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (lambda x, w: ops.softmax(x * w), lambda x, w: _softmax(x * w)),
    "softmax-first": (lambda x, w: ops.softmax(x, axis=0) * w, lambda x, w: _softmax(x, 0) * w),
    "rms_norm": (lambda x, w: ops.rms_norm(x, w, 1e-5), _rms),
    "layer_norm": (lambda x, w: ops.layer_norm(x, w, w, 1e-5), _layer),
    "silu": (lambda x, w: ops.silu(x) * w, lambda x, w: _silu(x) * w),
    "sums": (
        lambda x, w: [
            ops.sum(x * w, 1),
            ops.sum(x + w, 0),
            ops.max(x, axis=1),
            ops.min(x - w, axis=0),
        ],
        lambda x, w: [
            (x * w).sum(1, keepdims=True),
            (x + w).sum(0, keepdims=True),
            x.max(1, keepdims=True),
            (x - w).min(0, keepdims=True),
        ],
    ),
    "residual": (
        lambda x, w: (lambda s: [ops.rms_norm(s, w, 1e-5), s * 2.0])(x + w),
        lambda x, w: [_rms(x + w, w), (x + w) * 2],
    ),
    "residual-layer": (
        lambda x, w: (lambda s: [ops.layer_norm(s, w, w, 1e-5), ops.relu(s)])(x + w),
        lambda x, w: [_layer(x + w, w), np.maximum(x + w, 0)],
    ),
    "arg": (
        lambda x, w: [ops.argmax(x, 1), ops.argmin(x, 0)],
        lambda x, w: [x.argmax(1, keepdims=True), x.argmin(0, keepdims=True)],
    ),
    "moves": (
        lambda x, w: [ops.permute(x, [1, 0]), ops.concat([x, x + w], 1), ops.concat([x, x], 0)],
        lambda x, w: [x.T, np.concatenate([x, x + w], 1), np.concatenate([x, x], 0)],
    ),
}


def _arrays(dtype: DType, n: int, m: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n * 1000 + m)
    kind = dtype.to_ml_dtypes()
    return [rng.uniform(-3, 3, (n, m)).astype(kind), rng.uniform(0.5, 1.5, m).astype(kind)]


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _graph(
    fn: Callable[..., Any], dtype: DType, *shapes: Sequence[Any]
) -> Callable[[str, Module], Graph]:
    def build(name: str, module: Module) -> Graph:
        types = [cpu_tensor(dtype, shape) for shape in shapes]
        with Graph(name, input_types=types, module=module) as graph:
            graph.output(*_listed(fn(*(value.tensor for value in graph.inputs))))
        return graph

    return build


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """Each chain for each dtype, in one executable."""
    return compile_graphs(
        {
            f"{name}-{dtype.name}": _graph(fn, dtype, ["n", "m"], ["m"])
            for name, (fn, _) in CHAINS.items()
            for dtype in FLOATS
        }
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", CHAINS)
def test_sizes(models: dict[str, Any], name: str, dtype: DType):
    """Every length around the lanes and the unrolling, and every number of rows."""
    _check_sizes(models[f"{name}-{dtype.name}"], name, dtype)


def _check_sizes(model: Any, name: str, dtype: DType) -> None:
    oracle = CHAINS[name][1]
    for n, m in [*((3, m) for m in SIZES), *((n, 37) for n in SIZES)]:
        arrays = _arrays(dtype, n, m)
        expected = _listed(oracle(*(a.astype(np.float64) for a in arrays)))
        for got, want in zip(run(model, arrays), expected, strict=True):
            # Float16 and bfloat16 round each op of a chain.
            assert_close(got, np.asarray(want), 10 if dtype is not F32 else 2)


def test_sizes_without_masks():
    """The ends of rows on a processor that does not mask vectors: AVX2, where bfloat16 leaves loops over elements."""
    module = Module()
    for name, (fn, _) in CHAINS.items():
        for dtype in (F32, DType.bfloat16):
            _graph(fn, dtype, ["n", "m"], ["m"])(f"{name}-{dtype.name}", module)
    data, _ = compile_graph_module(module, {"cpu": "x86-64-v3"})
    try:
        models = session().load_all(data)
    except ArtifactError:
        pytest.skip("this machine has no AVX2")
    for name in CHAINS:
        for dtype in (F32, DType.bfloat16):
            _check_sizes(models[f"{name}-{dtype.name}"], name, dtype)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "silu", "sums"])
def test_of_views(name: str):
    """Rows of an operand that is not contiguous: a slice with a step, and a transposed one."""
    fn, oracle = CHAINS[name]
    rng = np.random.default_rng(0)
    for m in (1, 5, 16, 33):
        x = rng.uniform(-3, 3, (7, 2 * m + 3)).astype(np.float32)
        y = rng.uniform(-3, 3, (m, 7)).astype(np.float32)
        w = rng.uniform(0.5, 1.5, m).astype(np.float32)
        got = evaluate(
            lambda a, b, c, m=m: [
                *_listed(fn(a[:, 3 : 2 * m + 3 : 2], c)),
                *_listed(fn(ops.permute(b, [1, 0]), c)),
            ],
            x,
            y,
            w,
        )
        x, y, w = (a.astype(np.float64) for a in (x, y, w))
        expected = [*_listed(oracle(x[:, 3::2], w)), *_listed(oracle(y.T, w))]
        for one, other in zip(got, expected, strict=True):
            assert_close(one, other, 2)


def test_long_rows():
    x = np.random.default_rng(0).uniform(-3, 3, (3, 70_001)).astype(np.float32)
    w = np.ones(70_001, np.float32)
    for name in ("softmax", "rms_norm", "layer_norm"):
        fn, oracle = CHAINS[name]
        (got,) = evaluate(fn, x, w)
        assert_close(got, oracle(x.astype(np.float64), 1.0), 2)


def test_softmax_of_extremes():
    """A NaN or an infinity makes its row NaN, at every place of the row; the others stay."""
    for value in (math.nan, math.inf):
        x = np.zeros((41, 41), np.float32)
        np.fill_diagonal(x[:40, :40], value)
        (got,) = evaluate(lambda t: ops.softmax(t), x)
        assert np.isnan(got[:40]).all()
        assert_close(got[40], np.full(41, 1 / 41))
    low = np.full((2, 19), -3e38, np.float32)
    low[1, 7] = 3e38
    (got,) = evaluate(lambda t: ops.softmax(t), low)
    assert_close(got, np.stack([np.full(19, 1 / 19), np.eye(19)[7]]))


@pytest.mark.parametrize("dtype", [DType.float32, DType.bfloat16], ids=lambda dtype: dtype.name)
def test_products_that_meet(dtype: DType):
    """`silu(x @ gate) * (x @ up)` is one kernel, for any number of rows."""

    def fn(x: Any, gate: Any, up: Any) -> Any:
        return ops.silu(x @ gate) * (x @ up)

    build = _graph(fn, dtype, ["m", 40], [40, 70], [40, 70])
    model = compile_graphs({"meet": build})["meet"]
    for m in (1, 2, 7, 8, 9, 31, 64, 130, 300):
        rng = np.random.default_rng(m)
        shapes = [(m, 40), (40, 70), (40, 70)]
        arrays = [rng.uniform(-1, 1, s).astype(dtype.to_ml_dtypes()) for s in shapes]
        x, gate, up = (a.astype(np.float64) for a in arrays)
        (got,) = run(model, arrays)
        assert_close(got, _silu(x @ gate) * (x @ up), 10)
    calls = re.findall(r"kvern.call @(\w+)", stage(build("text", Module()), "optimized"))
    assert len(calls) == 1
