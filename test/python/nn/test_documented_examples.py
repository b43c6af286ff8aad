# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the API documentation, as they stand there, with their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from compiling import run, session
from kvern import nn
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, TensorType, Weight, ops
from kvern.nn.layer import Module
from tolerances import assert_close


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def wide(array: Any) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


class Linear(nn.Module):
    def __init__(self, in_dims, out_dims):
        super().__init__()
        self.weight = Weight("weight", DType.float32, (in_dims, out_dims), DeviceRef.CPU())

    def __call__(self, x):
        return x @ self.weight.T


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = Linear(5, 10)
        self.gate = Linear(5, 10)
        self.down = Linear(10, 5)

    def __call__(self, x):
        return self.down(ops.silu(self.gate(x)) + self.up(x))


def test_state_dict_of_the_class_example():
    state = MLP().state_dict()
    assert list(state) == ["up.weight", "gate.weight", "down.weight"]
    assert [list(value.shape) for value in state.values()] == [[5, 10], [5, 10], [10, 5]]
    for value in state.values():
        assert isinstance(value, Buffer)
        assert value.dtype is DType.float32
        np.testing.assert_array_equal(value.to_numpy(), 0)


def test_run_of_the_class_example():
    # `x @ weight.T` with a weight [5, 10] takes rows of 10, so up and gate go from 10 to 5 and down from 5 to 10.
    model = MLP()
    weights = {"up.weight": random(5, 10), "gate.weight": random(5, 10, seed=1)}
    weights["down.weight"] = random(10, 5, seed=2)
    model.load_state_dict(weights)
    x = random(3, 10, seed=3)
    compiled = model.compile(
        TensorType(DType.float32, ["rows", 10], DeviceRef.CPU()), session=session()
    )
    up, gate, down = (wide(weights[f"{name}.weight"]) for name in ("up", "gate", "down"))
    gated = wide(x) @ gate.T
    hidden = gated / (1 + np.exp(-gated)) + wide(x) @ up.T
    assert_close(run(compiled, [x])[0], hidden @ down.T, scale=10)


def test_names_collide_without_module():
    layers = [Linear(5, 10), Linear(5, 10)]
    assert [layer.weight.name for layer in layers] == ["weight", "weight"]
    names = [weight.name for weight in _named(MLP()).values()]
    assert names == ["up.weight", "gate.weight", "down.weight"]


def _named(model):
    model.state_dict()
    return model.raw_state_dict()


def test_build_subgraph():
    class Linear(Module):
        def __init__(self, in_dims, out_dims, weight_name):
            super().__init__()
            self.weight = Weight(
                weight_name,
                DType.float32,
                (in_dims, out_dims),
                DeviceRef.CPU(),
            )

        def __call__(self, x):
            return x @ self.weight.T

    num_layers = 3
    # prefix so build_subgraph() turns it into a placeholder.
    layer = Linear(4, 4, weight_name="layers.0.weight")
    with Graph(
        "build_subgraph_example",
        input_types=(TensorType(DType.float32, [2, 4], device=DeviceRef.CPU()),),
    ) as graph:
        h = graph.inputs[0].tensor

        # Build the subgraph once from a representative input.
        subgraph = layer.build_subgraph(
            "linear_block",
            inputs=[h],
            weight_prefix="layers.0.",
        )

        # Call it once per layer with the correct weight prefix.
        for idx in range(num_layers):
            outputs = ops.call(subgraph, h, prefix=f"layers.{idx}.")
            h = outputs[0].tensor

        graph.output(h)

    weights = {f"layers.{i}.weight": random(4, 4, seed=i) for i in range(num_layers)}
    x = random(2, 4, seed=9)
    expected = wide(x)
    for i in range(num_layers):
        expected = expected @ wide(weights[f"layers.{i}.weight"]).T
    model = session().load(graph, weights_registry=weights)
    assert_close(run(model, [x])[0], expected, scale=10)
    # The layer is as it was.
    assert layer.weight.name == "layers.0.weight"


def test_trace():
    class Linear(Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Weight("weight", DType.float32, (4, 4), DeviceRef.CPU())

        def __call__(self, x):
            return x @ self.weight.T

    graph = Linear().trace(TensorType(DType.float32, [2, 4], device=DeviceRef.CPU()))

    assert isinstance(graph, Graph)
    assert graph.name.endswith("Linear")
    weights, x = {"weight": random(4, 4)}, random(2, 4, seed=1)
    model = session().load(graph, weights_registry=weights)
    assert_close(run(model, [x])[0], wide(x) @ wide(weights["weight"]).T, scale=10)


def test_index_example():
    from kvern.nn import Linear

    input_type = TensorType(DType.float32, ["batch", 64], device=DeviceRef.CPU())
    with Graph("layer", input_types=[input_type]) as graph:
        x = graph.inputs[0].tensor
        graph.output(Linear(64, 32, DType.float32, DeviceRef.CPU())(x))

    model = InferenceSession().load(
        graph,
        weights_registry={"weight": np.zeros((32, 64), dtype=np.float32)},
    )

    np.testing.assert_array_equal(run(model, [random(3, 64)])[0], np.zeros((3, 32), np.float32))
    weight, x = random(32, 64, seed=1), random(5, 64, seed=2)
    model = InferenceSession().load(graph, weights_registry={"weight": weight})
    assert_close(run(model, [x])[0], wide(x) @ wide(weight).T, scale=10)
