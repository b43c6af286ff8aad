# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling on all widths of registers, at the edges of its blocks, and on threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, run, session
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, TensorType, ops
from kvern.graph._compile import compile_graph_module
from op_cases.sampling import filtered, parameters, philox, reference

CPU = DeviceRef.CPU()
KINDS = [DType.float32, DType.float32, DType.int64, *[DType.float32] * 2, *[DType.uint64] * 2]


def build(*, log: bool = True) -> Graph:
    types = [cpu_tensor(d, ["b", "v"] if i == 0 else ["b"]) for i, d in enumerate(KINDS)]
    with Graph("sampling", input_types=types) as graph:
        *x, seed, at = (value.tensor for value in graph.inputs)
        tokens, logprobs = ops.sample_tokens(*x, seed=seed, position=at)
        graph.output(tokens, *([logprobs] if log else []), ops.filter_logits(*x))
    return graph


def check(model: Any, arrays: list[Any], *, log: bool = True) -> None:
    outputs = run(model, arrays)
    exact = [x.astype(np.float64) if x.dtype == np.float32 else x for x in arrays]
    tokens, logprobs = reference(*exact)
    np.testing.assert_array_equal(outputs[0], tokens)
    if log:
        np.testing.assert_allclose(outputs[1], logprobs, atol=2e-5)
    np.testing.assert_allclose(outputs[-1], filtered(*exact[:5]), rtol=1e-5, atol=1e-5)


def test_known_answer_of_the_generator() -> None:
    """Of the test vectors that its authors publish with Random123, the one whose counter ends with 0."""
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_narrow_registers(cpu: str, tmp_path: Path) -> None:
    path = tmp_path / "sampling.kvx"
    path.write_bytes(compile_graph_module(build(), {"cpu": cpu})[0])
    model = session().load(path)
    for vocab in (3, 257, 5000):
        check(model, parameters(12, vocab))


@pytest.mark.parametrize("around", [16, 64, 1024, 2048])
def test_edges_of_blocks(around: int) -> None:
    model = session().load(build(log=False))
    for vocab in (around - 1, around, around + 1):
        check(model, parameters(8, vocab), log=False)


def test_threads_change_nothing() -> None:
    one, two = (InferenceSession(num_threads=count).load(build()) for count in (1, 2))
    arrays = parameters(33, 700)
    for a, b in zip(run(one, arrays), run(two, arrays), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_refused() -> None:
    types = [cpu_tensor(DType.float32, ["b", "v"])]
    types += [cpu_tensor(DType.uint64, [size]) for size in "cb"]
    with Graph("refused", input_types=types) as graph:
        logits, seed, fits = (value.tensor for value in graph.inputs)
        with pytest.raises(ValueError, match=r"expected parameters of shape \[b\], but got \[c\]"):
            ops.sample_tokens(logits, seed=seed, position=0)
        with pytest.raises(ValueError, match="expected stream to be from 0 to below 2"):
            ops.sample_tokens(logits, seed=0, position=0, stream=-1)
        with pytest.raises(TypeError, match="tensor of i64, but got"):
            ops.sample_tokens(logits, top_k=fits, seed=0, position=0)


def test_random_needs_a_seed() -> None:
    like = TensorType(DType.float32, [4], CPU)
    with Graph("random", input_types=[cpu_tensor(DType.float32, [4])]) as graph:
        with pytest.raises(ValueError, match="expected a seed of the graph"):
            ops.random.uniform(like)
        with pytest.raises(TypeError, match="expected a seed of"):
            ops.random.set_seed(graph.inputs[0].tensor)
        ops.random.set_seed()
        with pytest.raises(TypeError, match="expected a TensorType of floats"):
            ops.random.gaussian(TensorType(DType.int32, [4], CPU))
        with pytest.raises(TypeError, match="expected two numbers as range"):
            ops.random.uniform(like, range=3)  # pyright: ignore[reportArgumentType]


def test_random_is_normal() -> None:
    with Graph("random", input_types=[ops.random.SeedType]) as graph:
        ops.random.set_seed(graph.inputs[0].tensor)
        graph.output(ops.random.normal(TensorType(DType.float32, [100000], CPU)))
    model = session().load(graph)
    first, second = (run(model, [np.array(seed, np.uint64)])[0] for seed in (1, 2))
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert abs((first.astype(np.float64) ** power).mean() - moment) < 0.1
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.02
