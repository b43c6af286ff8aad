# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers as subgraphs: structured arguments, placeholder weights, errors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, run, session
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorValue, Weight, ops
from kvern.nn._pytree import flatten
from tolerances import assert_close

F32 = DType.float32
CPU = DeviceRef.CPU()
X = cpu_tensor(F32, ["n", 3])
Pair = namedtuple("Pair", ["left", "right"])


class Cache:
    """A structured argument."""

    def __init__(self, keys: Any, extra: Any, name: str) -> None:
        self.keys, self.extra, self.name = keys, extra, name

    def __tree_flatten__(self) -> tuple[list[Any], str]:
        return [self.keys, self.extra], self.name

    @classmethod
    def __tree_unflatten__(cls, metadata: str, children: list[Any]) -> Cache:
        return cls(*children, metadata)


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Weight("weight", F32, [3], CPU)
        self.bias = Weight("bias", F32, [3], CPU)

    def __call__(self, x: TensorValue) -> TensorValue:
        return x * self.weight + self.bias


def test_flatten_and_back() -> None:
    with Graph("tree", input_types=[X] * 5) as graph:
        a, b, c, d, e = graph.inputs
        tree = [a, (b, None, {"k": c}), Cache([d], None, "name"), Pair(e, [])]
        leaves, unflatten = flatten(tree)
        assert [leaf is value for leaf, value in zip(leaves, graph.inputs, strict=True)] == [
            True
        ] * 5
        again = unflatten([1, 2, 3, 4, 5])
        assert again[:2] == [1, (2, None, {"k": 3})]
        cache = again[2]
        assert (cache.keys, cache.extra, cache.name) == ([4], None, "name")
        assert again[3] == Pair(5, [])
        with pytest.raises(ValueError, match="5 leaves, but got 1"):
            unflatten([1])
        with pytest.raises(TypeError, match=r"inputs\[1\]\['k'\].*'text'"):
            flatten([a, {"k": "text"}])


def test_structured_arguments() -> None:
    class Layer(nn.Module):
        def __call__(self, x: TensorValue, rest: tuple[Any, Any], cache: Cache) -> Any:
            assert cache.extra is None and cache.name == "page"
            return x + rest[0] * 2, rest[1][0] - cache.keys

    with Graph("structured", input_types=[X] * 4) as graph:
        a, b, c, d = (value.tensor for value in graph.inputs)
        subgraph = Layer().build_subgraph("layer", [a, (b, [c]), Cache(d, None, "page")])
        graph.output(*(value.tensor for value in ops.call(subgraph, a, b, c, d)))
    arrays = [np.full((2, 3), value, np.float32) for value in (1, 10, 100, 1000)]
    first, second = run(session().load(graph), arrays)
    assert_close(first, np.full((2, 3), 21))
    assert_close(second, np.full((2, 3), -900))


def test_weights_outside_the_prefix_are_shared() -> None:
    layer = Scale()
    layer.weight.name, layer.bias.name = "layers.0.weight", "common.bias"
    with Graph("shared", input_types=[X]) as graph:
        h = graph.inputs[0].tensor
        subgraph = layer.build_subgraph("scale", [h], weight_prefix="layers.0.")
        for i in range(2):
            h = ops.call(subgraph, h, prefix=f"layers.{i}.")[0].tensor
        graph.output(h)
    weights = {f"layers.{i}.weight": np.full(3, i + 2, np.float32) for i in range(2)}
    weights["common.bias"] = np.full(3, 0.5, np.float32)
    model = session().load(graph, weights_registry=weights)
    x = np.ones((2, 3), np.float32)
    assert_close(run(model, [x])[0], (x * 2 + 0.5) * 3 + 0.5)


def test_without_prefix_every_weight_is_a_placeholder() -> None:
    with Graph("all", input_types=[X]) as graph:
        subgraph = Scale().build_subgraph("scale", list(graph.inputs))
        graph.output(ops.call(subgraph, graph.inputs[0], prefix="a.")[0].tensor)
    weights = {"a.weight": np.full(3, 2, np.float32), "a.bias": np.ones(3, np.float32)}
    model = session().load(graph, weights_registry=weights)
    assert_close(run(model, [np.ones((1, 3), np.float32)])[0], np.full((1, 3), 3.0))


def test_a_prefix_that_no_weight_has() -> None:
    with Graph("wrong", input_types=[X]) as graph:
        with pytest.raises(ValueError, match=r"'layers.0.'.*weight, bias"):
            Scale().build_subgraph("scale", list(graph.inputs), weight_prefix="layers.0.")


def test_no_graph() -> None:
    graph = Graph("done", input_types=[X])
    with pytest.raises(ValueError, match="graph that is being built"):
        Scale().build_subgraph("scale", list(graph.inputs))


def test_the_name_is_taken() -> None:
    with Graph("twice", input_types=[X]) as graph:
        Scale().build_subgraph("scale", list(graph.inputs))
        with pytest.raises(ValueError, match="'scale'"):
            Scale().build_subgraph("scale", list(graph.inputs))


def test_inputs_that_are_no_values() -> None:
    with Graph("numbers", input_types=[X]):
        with pytest.raises(TypeError, match=r"inputs\[0\]"):
            Scale().build_subgraph("scale", [3])
