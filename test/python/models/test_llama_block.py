# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Llama-style block against PyTorch in float64, for several batches and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, run, session
from kvern import nn
from kvern.dtype import DType
from kvern.graph import Graph, ops
from models.llama_block import LlamaBlock, LlamaConfig, random_weights, reference

SIZES = [(1, 1), (1, 7), (3, 5), (2, 16), (4, 33), (1, 128)]


def tokens(batch: int, seq: int, hidden: int, kind: Any = np.float32) -> np.ndarray:
    rng = np.random.default_rng(batch * 1000 + seq)
    return rng.standard_normal((batch, seq, hidden)).astype(kind)


def check(got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """The error is measured against the largest number."""
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


@pytest.fixture(scope="module", params=[DType.float32, DType.float64], ids=["float32", "float64"])
def block(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    config = LlamaConfig(dtype=request.param)
    layer = LlamaBlock(config)
    weights = random_weights(layer)
    layer.load_state_dict(weights)
    x = cpu_tensor(config.dtype, ["batch", "seq", config.hidden])
    return layer.compile(x, session=session()), weights, config


@pytest.mark.parametrize(("batch", "seq"), SIZES)
def test_block(block: tuple[Any, Any, Any], batch: int, seq: int) -> None:
    model, weights, config = block
    x = tokens(batch, seq, config.hidden, config.dtype.to_numpy())
    tolerance = 1e-5 if config.dtype is DType.float32 else 1e-13
    check(run(model, [x])[0], reference(weights, x, config), tolerance)


def test_empty_batch(block: tuple[Any, Any, Any]) -> None:
    model, _, config = block
    x = tokens(0, 5, config.hidden, config.dtype.to_numpy())
    assert run(model, [x])[0].shape == (0, 5, config.hidden)


def test_blocks_as_subgraph() -> None:
    """Three blocks that share one subgraph, each with weights of its own."""
    config = LlamaConfig()
    layers = nn.LayerList([LlamaBlock(config) for _ in range(3)])
    weights = random_weights(layers)
    layers.load_state_dict(weights)
    x = cpu_tensor(DType.float32, ["batch", "seq", config.hidden])
    with Graph("decoder", input_types=[x]) as graph:
        h = graph.inputs[0].tensor
        subgraph = layers[0].build_subgraph("block", [h], weight_prefix="0.")
        for i in range(len(layers)):
            h = ops.call(subgraph, h, prefix=f"{i}.")[0].tensor
        graph.output(h)
    model = session().load(graph, weights_registry=weights)
    for batch, seq in SIZES[:4]:
        data = tokens(batch, seq, config.hidden)
        expected: np.ndarray = data
        for i in range(len(layers)):
            own = {k.removeprefix(f"{i}."): w for k, w in weights.items() if k.startswith(f"{i}.")}
            expected = reference(own, expected, config)
        check(run(model, [data])[0], expected, 1e-5)
