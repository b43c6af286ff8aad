# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks that print."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from compiling import cpu_tensor, session
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph

CPU = DeviceRef.CPU()
INPUT = cpu_tensor(DType.float32, ["n", 3])


def model() -> nn.Sequential:
    layers = [nn.Linear(3, 2, DType.float32, CPU), nn.Linear(2, 3, DType.float32, CPU)]
    made = nn.Sequential(layers)
    made.load_state_dict(
        {"0.weight": np.ones((2, 3), np.float32), "1.weight": np.ones((3, 2), np.float32)}
    )
    return made


@pytest.fixture(autouse=True)
def _no_hooks() -> Iterator[None]:
    yield
    nn.clear_hooks()


def test_types_are_printed_while_a_graph_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    made = model()
    hook = nn.PrintHook("ignored")
    made.trace(INPUT)
    hook.name_layers(made)
    made.trace(INPUT)
    hook.remove()
    hook.remove()
    made.trace(INPUT)
    lines = capsys.readouterr().out.splitlines()
    names = [line.split(":")[0] for line in lines]
    assert names == ["Linear", "Linear#2", "Sequential", "0", "1", "model"]
    assert "float32" in lines[3] and "2" in lines[3]


def test_numbers_are_printed_by_way_of_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    made = model()
    hook = nn.PrintHook(filter=["0"])
    hook.name_layers_v3(made)
    with Graph("seen", input_types=[INPUT]) as graph:
        graph.output(made(graph.inputs[0].tensor), *hook.values.values())
    hook.remove()
    outputs = (
        session()
        .load(graph, weights_registry=made.state_dict())
        .execute(np.array([[1, 2, 3]], np.float32))
    )
    capsys.readouterr()
    assert list(hook.values) == ["0"]
    assert hook.print_value("0", outputs[1])
    assert capsys.readouterr().out == "0: float32 [1, 2] 6 to 6, mean 6: 6, 6\n"
    assert hook.print_value("none", np.zeros((0, 2), np.float32))
    assert not hook.print_value("text", "x")


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a Module, but got 3"):
        nn.PrintHook().name_layers(3)
    with pytest.raises(NotImplementedError, match="print_value"):
        nn.BasePrintHook().print_value("x", 1)
