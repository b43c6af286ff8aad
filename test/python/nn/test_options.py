# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of layers that are refused, and constructor arguments. Nothing here is compiled."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorType

CPU = DeviceRef.CPU()
F32 = DType.float32
TWO = [CPU, DeviceRef.GPU()]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.Linear(2, 3, F32, CPU, quantization_encoding="Q5_K"), ["Linear", "Q5_K"]),
        (lambda: nn.Linear(2, 3, F32, CPU, quant_config="fp8"), ["Linear", "quant_config='fp8'"]),
        (lambda: nn.Linear(2, 3, F32, CPU, is_sharding=True), ["Linear", "is_sharding"]),
        (lambda: nn.Embedding(2, 3, F32, CPU, "Q5_K"), ["Embedding", "Q5_K"]),
        (lambda: nn.MLP(F32, "Q4_K", 2, 3, [CPU]), ["Linear", "Q4_K", "Q4_0, Q4_1, Q8_0"]),
        (lambda: nn.MLP(F32, None, 2, 3, [CPU], quant_config="x"), ["MLP", "quant_config='x'"]),
        (lambda: nn.MLP(F32, None, 2, 3, [CPU], is_sharding=True), ["MLP", "is_sharding"]),
        (lambda: nn.MLP(F32, None, 2, 3, TWO), ["MLP", "cpu:0, gpu:0"]),
        (lambda: nn.LayerNorm(2, TWO, F32), ["LayerNorm", "cpu:0, gpu:0"]),
        (lambda: nn.Linear(2, 3, F32, CPU).shard([CPU]), ["Linear", "sharding"]),
        (lambda: nn.RMSNorm(2, F32).shard([CPU]), ["RMSNorm", "sharding"]),
    ],
)
def test_refused(make: Any, words: list[str]) -> None:
    with pytest.raises(NotImplementedError) as error:
        make()
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_sharding_strategy_is_refused() -> None:
    linear = nn.Linear(2, 3, F32, CPU)
    assert linear.sharding_strategy is None
    linear.sharding_strategy = None
    with pytest.raises(NotImplementedError, match="sharding"):
        linear.sharding_strategy = "rowwise"  # pyright: ignore[reportAttributeAccessIssue]


def test_unknown_activation() -> None:
    with pytest.raises(ValueError, match=r"silu, gelu.*'swish'"):
        nn.MLP(F32, None, 2, 3, [CPU], activation_function="swish")


def test_no_device() -> None:
    with pytest.raises(ValueError, match="one device"):
        nn.LayerNorm(2, [], F32)


def test_construction_names() -> None:
    linear = nn.Linear(2, 3, F32, CPU, has_bias=True, name="proj")
    assert [w.name for w in linear.raw_state_dict().values()] == ["proj.weight", "proj.bias"]
    linear.state_dict()
    assert [w.name for w in linear.raw_state_dict().values()] == ["weight", "bias"]
    assert nn.Embedding(2, 3, F32, CPU, name="embed").weight.name == "embed.weight"


def test_weight_names_and_shapes() -> None:
    shapes = {
        name: [int(dim) for dim in weight.shape]
        for name, weight in nn.MLP(F32, None, 4, 6, [CPU], has_bias=True).raw_state_dict().items()
    }
    assert shapes == {
        "gate_proj.weight": [6, 4],
        "gate_proj.bias": [6],
        "up_proj.weight": [6, 4],
        "up_proj.bias": [6],
        "down_proj.weight": [4, 6],
        "down_proj.bias": [4],
    }


def test_mlp_takes_a_class_of_linears() -> None:
    class Mine(nn.Linear):
        pass

    assert type(nn.MLP(F32, None, 4, 6, [CPU], linear_cls=Mine).up_proj) is Mine


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(3, 2, F32, CPU),
        nn.RMSNorm(3, F32),
        nn.LayerNorm(3, [CPU], F32),
        nn.MLP(F32, None, 3, 2, [CPU]),
    ],
)
def test_wrong_last_axis(layer: nn.Module) -> None:
    with Graph("wrong", input_types=[TensorType(F32, ["n", 4], CPU)]) as graph:
        with pytest.raises(ValueError) as error:
            layer(graph.inputs[0].tensor)
    assert "4" in str(error.value) and "3" in str(error.value)
    # The user's line comes first, not one of the layer.
    assert str(error.value).startswith(__file__)


def test_import_loads_no_compiler() -> None:
    program = (
        "import kvern.nn\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert 'libMLIR' not in maps and '_mlir_libs' not in maps, maps\n"
        "layer = kvern.nn.Linear(3, 2, __import__('kvern.dtype').dtype.DType.float32, "
        "__import__('kvern.graph').graph.DeviceRef.CPU())\n"
        "layer.state_dict()\n"
        "assert '_mlir_libs' not in open('/proc/self/maps').read()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
