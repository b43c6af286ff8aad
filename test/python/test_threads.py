# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs on several threads: the same bits for every number, many sessions at once, fork in between.

The sizes are on both sides of what is worth a second thread, and around the edges of tiles.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, to_array
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model
from kvern.graph import DeviceRef, Graph, Module, ops

f32 = DType.float32
THREADS = (1, 2, 3, 7)
ROWS = (1, 2, 7, 33, 130, 700)


def norm(x: Any) -> Any:
    scale = ops.constant(np.ones(96, np.float32), f32, DeviceRef.CPU())
    return ops.layer_norm(x, scale, scale, 1e-5)


def mlp(x: Any) -> Any:
    rng = np.random.default_rng(1)
    up, down = (
        ops.constant(rng.standard_normal(shape, np.float32), f32, DeviceRef.CPU())
        for shape in ((96, 250), (250, 96))
    )
    return x + ops.matmul(ops.gelu(ops.matmul(x, up)), down)


def conv(x: Any) -> Any:
    filters = np.random.default_rng(2).standard_normal((3, 3, 6, 20), np.float32)
    images = x.reshape(["rows", 4, 4, 6])
    return ops.conv2d(images, ops.constant(filters, f32, DeviceRef.CPU()), padding=1)


def attention(x: Any) -> Any:
    heads = x.reshape([1, "rows", 3, 32])
    return ops.attention(heads, heads, heads, mask_variant="causal")


# What is computed of x: [rows, 96].
GRAPHS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: ops.exp(x * 0.5) - ops.tanh(x),
    "softmax": ops.softmax,
    "norm": norm,
    "sum_of_rows": lambda x: ops.sum(x, axis=1),
    "sum_of_columns": lambda x: ops.sum(x, axis=0),
    "transposed": lambda x: ops.transpose(x, 0, 1) + 1,
    "gram": lambda x: ops.matmul(x, ops.transpose(x, 0, 1)),
    "covariance": lambda x: ops.matmul(ops.transpose(x, 0, 1), x),
    "mlp": mlp,
    "attention": attention,
    "attention_by_parts": lambda x: ops.matmul(
        ops.softmax(ops.matmul(x, ops.transpose(x, 0, 1)) * 0.1), x
    ),
    "conv": conv,
}


@pytest.fixture(scope="module")
def models() -> dict[int, dict[str, Model]]:
    """Models by number of threads and name; their code is compiled once."""
    module = Module()
    for name, build in GRAPHS.items():
        with Graph(name, input_types=[cpu_tensor(f32, ["rows", 96])], module=module) as graph:
            graph.output(build(graph.inputs[0].tensor))
    compiled = InferenceSession().compile(module)
    return {n: InferenceSession(num_threads=n).init_all(compiled) for n in THREADS}


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 96), np.float32)


@pytest.mark.parametrize("name", GRAPHS)
def test_same_bits_for_every_number_of_threads(models: dict[int, dict[str, Model]], name: str):
    for count in ROWS:
        x = rows(count)
        expected = to_array(models[1][name](x)[0])
        assert np.isfinite(expected).all()
        for threads in THREADS:
            for _ in range(5):
                result = to_array(models[threads][name](x)[0])
                np.testing.assert_array_equal(result, expected, f"{threads} threads, {count} rows")


def test_sizes_of_products():
    with Graph(
        "product", input_types=[cpu_tensor(f32, ["m", "k"]), cpu_tensor(f32, ["k", "n"])]
    ) as graph:
        graph.output(ops.matmul(graph.inputs[0].tensor, graph.inputs[1].tensor))
    compiled = InferenceSession().compile(graph)
    one, two, three = (InferenceSession(num_threads=n).init(compiled) for n in (1, 2, 3))
    rng = np.random.default_rng(0)
    for m, k, n in [(1, 300, 4100), (5, 64, 5000), (16, 1, 3000), (200, 300, 257), (513, 70, 129)]:
        a = rng.standard_normal((m, k), np.float32)
        b = rng.standard_normal((k, n), np.float32)
        expected = to_array(one(a, b)[0])
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(expected, exact, rtol=0, atol=1e-5 * max(k, 10))
        for model in (two, three):
            np.testing.assert_array_equal(to_array(model(a, b)[0]), expected)


def test_empty_inputs(models: dict[int, dict[str, Model]]):
    x = rows(0)
    for name in ("elementwise", "softmax", "mlp", "sum_of_rows", "covariance"):
        expected = to_array(models[1][name](x)[0])
        np.testing.assert_array_equal(to_array(models[3][name](x)[0]), expected)


def test_sessions_share_the_threads(models: dict[int, dict[str, Model]]):
    """Eight Python threads run models of four sessions at once."""
    names = list(GRAPHS)
    inputs = {count: rows(count) for count in ROWS}
    expected = {
        (name, count): to_array(models[1][name](x)[0])
        for name in names
        for count, x in inputs.items()
    }
    failures: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(40):
            name, count = names[rng.integers(len(names))], int(rng.choice(ROWS))
            result = to_array(models[int(rng.choice(THREADS))][name](inputs[count])[0])
            if not np.array_equal(result, expected[name, count]):
                failures.append(f"{name} of {count} rows")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert not any(worker.is_alive() for worker in workers)
    assert failures == []


def test_fork_between_runs(models: dict[int, dict[str, Model]]):
    """A child that was forked after runs on several threads runs on several threads."""
    x = rows(700)
    expected = to_array(models[2]["mlp"](x)[0])
    for _ in range(3):
        child = os.fork()
        if child == 0:
            same = all(np.array_equal(to_array(models[n]["mlp"](x)[0]), expected) for n in (2, 7))
            os._exit(7 if same else 1)
        np.testing.assert_array_equal(to_array(models[2]["mlp"](x)[0]), expected)
        deadline = time.monotonic() + 60
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline, "the child does not end"
            time.sleep(0.01)
        assert os.waitstatus_to_exitcode(ended[1]) == 7


def test_more_threads_than_cores(models: dict[int, dict[str, Model]]):
    with Graph("sum", input_types=[cpu_tensor(f32, ["rows", 96])]) as graph:
        graph.output(ops.softmax(graph.inputs[0].tensor))
    x = rows(700)
    model = InferenceSession(num_threads=10**6).load(graph)
    expected = to_array(models[1]["softmax"](x)[0])
    for _ in range(5):
        np.testing.assert_array_equal(to_array(model(x)[0]), expected)


@pytest.mark.parametrize(("value", "expected"), [("3", "3"), ("1", "1"), ("none", None)])
def test_environment(value: str, expected: str | None):
    program = (
        "from kvern.engine import InferenceSession\n"
        "from kvern.graph import Graph, TensorType, DeviceRef\n"
        "from kvern.dtype import DType\n"
        "g = Graph('g', lambda x: x + 1, [TensorType(DType.float32, [3], DeviceRef.CPU())])\n"
        "compiled = InferenceSession().compile(g)\n"
        "print(*(InferenceSession(num_threads=n).init(compiled)._core.threads for n in (None, 2)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KVERN_NUM_THREADS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    chosen, asked = result.stdout.split()
    assert asked == "2"
    if expected is None:
        assert 1 <= int(chosen) <= len(os.sched_getaffinity(0))
    else:
        assert chosen == expected
