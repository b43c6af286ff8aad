# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages as Python prints them are those that kvern-opt prints."""

from __future__ import annotations

import subprocess

import pytest
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorType, ops
from kvern.graph._compile import serialize_module, stage, stage_names
from kvern.tools import find_tool


def build_graph() -> Graph:
    x = TensorType(DType.float32, ["batch", 24], DeviceRef.CPU())
    w = TensorType(DType.float32, [24, 7], DeviceRef.CPU())
    with Graph("stages", input_types=[x, w]) as graph:
        x, w = (value.tensor for value in graph.inputs)
        graph.output(ops.softmax(ops.relu(x @ w)[1:]))
    return graph


def run_opt(bytecode: bytes, name: str) -> str:
    command = [find_tool("kvern-opt"), f"--kvern-stage={name}"]
    return subprocess.run(command, input=bytecode, capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("name", ["graph", "optimized", "kernels", "loops", "target"])
def test_same_as_kvern_opt(name: str) -> None:
    graph = build_graph()
    assert stage(graph, name).strip() == run_opt(serialize_module(graph), name).strip()


def test_names_are_in_order() -> None:
    assert stage_names() == ["graph", "optimized", "kernels", "loops", "target", "binary"]


def test_binary_is_assembly_with_the_entry() -> None:
    assert "graph_stages:" in stage(build_graph(), "binary")
