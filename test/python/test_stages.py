# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages as Python prints them are those that kvern-opt prints."""

from __future__ import annotations

import re
import subprocess

import pytest
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorType, ops
from kvern.graph._compile import compile_graph_module, serialize_module, stage, stage_names
from kvern.graph._mlir import bindings
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


def split_modules(text: str) -> dict[str, str]:
    """The nested modules of a module by name, each with the names of its aliases written out."""
    mlir = bindings()
    with mlir.context, mlir.ir.Location.unknown():
        module = mlir.ir.Module.parse(text)
        return {part.attributes["sym_name"].value: str(part) for part in module.body.operations}


@pytest.mark.parametrize("last", ["loops", "target"])
def test_a_kernel_alone_becomes_the_same(last: str) -> None:
    """What makes it possible to compile kernels one by one, and to keep them."""
    graph = build_graph()
    whole = split_modules(stage(graph, last))
    kernels = split_modules(stage(graph, "kernels"))
    names = [name for name in kernels if name.startswith("kernel_")]
    assert len(names) > 1 and set(names) == set(whole) - {"host"}
    for name in names:
        command = [find_tool("kvern-opt"), f"--kvern-kernels-to-{last}"]
        alone = subprocess.run(
            command, input=kernels[name].encode(), capture_output=True, check=True
        ).stdout.decode()
        assert split_modules(alone)[name] == whole[name]


def test_the_executable_has_what_binary_shows() -> None:
    """The symbol of a kernel ends with a hash of its IR, of the passes and of the target."""
    graph = build_graph()
    shown = re.findall(r"^(kernel_\w+_[0-9a-f]{16}):", stage(graph, "binary"), re.MULTILINE)
    assert len(shown) > 1
    data, _ = compile_graph_module(graph)
    for symbol in shown:
        assert symbol.encode() in data


def test_timing_names_the_passes_that_cost() -> None:
    command = [find_tool("kvern-opt"), "--kvern-stage=target", "--mlir-timing"]
    run = subprocess.run(command, input=serialize_module(build_graph()), capture_output=True)
    for name in (b"Canonicalizer", b"Bufferize", b"ConvertVectorToLLVMPass"):
        assert name in run.stderr
