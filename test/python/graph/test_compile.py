# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages from Python, and what a compile failure leaves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from graph.staging import tensor
from kvern.errors import CompileError, GraphError
from kvern.graph import Graph, Module, _compile
from kvern.tools import find_tool


def graph(name: str = "g", module: Module | None = None) -> Graph:
    return Graph(name, lambda x: x + x, [tensor(["n", 4])], module=module)


def test_stages() -> None:
    assert _compile.stage_names() == ["graph", "optimized", "kernels", "loops", "target", "binary"]
    text = _compile.stage(graph(), "graph")
    assert "kvern.add" in text
    assert " = kvern.add" not in _compile.stage(graph(), "kernels")


def test_one_graph_of_a_module() -> None:
    module = Module()
    one, _ = graph("one", module), graph("two", module)
    assert "@two" not in _compile.stage(one, "graph")
    assert "@two" in _compile.stage(module, "graph")
    assert "@two" in str(module)


def test_serialization_tells_graphs_apart() -> None:
    assert _compile.serialize_module(graph("a")) != _compile.serialize_module(graph("b"))
    first, second = (_compile.serialize_module(graph()) for _ in range(2))
    assert first == second


def test_incomplete() -> None:
    with pytest.raises(GraphError, match="to have outputs"):
        _compile.compile_graph_module(Graph("g"))


def test_failure_leaves_a_reproducer() -> None:
    with pytest.raises(CompileError, match="unknown stage 'nope'") as caught:
        _compile.stage(graph(), "nope")
    found = re.search(r"kvern-opt --kvern-stage=\w+ (\S+\.mlir)$", str(caught.value))
    assert found is not None
    path = Path(found[1])
    assert "kvern.add" in path.read_text()
    path.unlink()


def test_failure_of_one_kernel_names_only_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = "func.func @kernel_add() attributes {kvern.kernel} {\n  return\n}"

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("model.py:3: error: no", kernel)

    monkeypatch.setattr(_compile.bindings().ext, "compile", fail)
    with pytest.raises(CompileError, match=r"^model\.py:3: error: no\n") as caught:
        _compile.compile_graph_module(graph())
    found = re.search(r"kvern-opt --kvern-kernels-to-target (\S+\.mlir)$", str(caught.value))
    assert found is not None
    path = Path(found[1])
    assert path.read_text().strip() == kernel
    command = [find_tool("kvern-opt"), "--kvern-kernels-to-target", str(path)]
    assert subprocess.run(command, capture_output=True).returncode == 0
    path.unlink()
