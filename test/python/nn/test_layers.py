# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of every public layer against PyTorch in float64; a public layer without a case fails."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, evaluate, run, session
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, Module, TensorValue
from nn.layer_cases import CASES, LayerCase, expected, random_input, random_weights
from tolerances import assert_close

CPU = DeviceRef.CPU()
# What has no numbers of its own: tested in test_containers.py, test_module.py, test_hooks.py and below.
NOT_NUMERIC = {
    "AttentionMaskVariant",
    "BasePrintHook",
    "Layer",
    "LogitsPostprocessMixin",
    "MHAMaskVariant",
    "MissingLayer",
    "Module",
    "PrintHook",
    "ReturnHiddenStates",
    "ReturnLogits",
    "add_layer_hook",
    "clamp",
    "clear_hooks",
}
# Numbers of what runs in steps over a cache, or is a table, are held by other modules, which name them.
ELSEWHERE = (
    "test_cached_attention",
    "test_latent_attention",
    "test_rotary_scaling",
    "test_transformer",
)

PARAMETERS = [(case, dtype) for case in CASES for dtype in case.dtypes]
IDS = [f"{case.layer}-{case.label}-{dtype.name}" for case, dtype in PARAMETERS]


@functools.cache
def compiled() -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """All layers in one executable; the weights of a layer have its id as prefix."""
    module, weights, registry = Module(), {}, {}
    for name, (case, dtype) in zip(IDS, PARAMETERS, strict=True):
        layer = case.make(dtype)
        weights[name] = random_weights(layer)
        layer.load_state_dict(weights[name])
        for weight in layer.raw_state_dict().values():
            registry[f"{name}/{weight.name}"] = weights[name][weight.name]
            weight.name = f"{name}/{weight.name}"
        x = DType.int64 if case.indices is not None else dtype
        layer.trace(cpu_tensor(x, case.dims), name=name, module=module)
    return session().load_all(module, weights_registry=registry), weights


@pytest.mark.parametrize(
    ("case", "dtype", "name"), [(*p, i) for p, i in zip(PARAMETERS, IDS, strict=True)], ids=IDS
)
def test_numbers(case: LayerCase, dtype: DType, name: str) -> None:
    models, weights = compiled()
    for shape in case.shapes:
        x = random_input(case, dtype, shape)
        (got,) = run(models[name], [x])
        assert DType.from_numpy(got.dtype) is dtype
        assert_close(got, expected(case, weights[name], x), case.scale)


def test_every_public_layer_has_a_case() -> None:
    missing = set(nn.__all__) - {case.layer for case in CASES} - NOT_NUMERIC
    texts = [(Path(__file__).parent / f"{name}.py").read_text() for name in ELSEWHERE]
    assert not [name for name in missing if not any(name in text for text in texts)]
    assert set(nn.__all__) >= NOT_NUMERIC


def test_clamp() -> None:
    x = np.array([-5, -1, 0.5, 2, 9], np.float32)
    bounds = [(-1, 2), (None, 2), (-1, None), (None, None), (2, -1)]
    got = evaluate(lambda t: [nn.clamp(t, low, high) for low, high in bounds], x)
    for one, (low, high) in zip(got, bounds, strict=True):
        other = x if low is None else np.maximum(x, low)
        np.testing.assert_array_equal(one, other if high is None else np.minimum(other, high))


@pytest.mark.parametrize(
    "norm", [nn.RMSNorm(13, DType.float32), nn.LayerNorm(13, [CPU], DType.float32)]
)
def test_wide_norm_weights_keep_their_precision(norm: nn.Module) -> None:
    import ml_dtypes

    norm.load_state_dict(random_weights(norm))
    x = np.random.default_rng(0).uniform(-2, 2, (3, 13)).astype(ml_dtypes.bfloat16)
    model = norm.compile(cpu_tensor(DType.bfloat16, ["n", 13]), session=session())
    case = next(case for case in CASES if case.layer == type(norm).__name__)
    (got,) = run(model, [x])
    assert got.dtype == ml_dtypes.bfloat16
    values = {name: np.asarray(value) for name, value in norm.state_dict().items()}
    assert_close(got, expected(case, values, x))


def test_compile_uses_the_state() -> None:
    layer = nn.Linear(3, 2, DType.float32, CPU)
    x = cpu_tensor(DType.float32, ["n", 3])
    zero = layer.compile(x, session=session())
    np.testing.assert_array_equal(run(zero, [np.ones((4, 3), np.float32)])[0], np.zeros((4, 2)))
    layer.load_state_dict({"weight": np.ones((2, 3), np.float32)})
    one = layer.compile(x, session=session(), name="ones")
    np.testing.assert_array_equal(run(one, [np.ones((4, 3), np.float32)])[0], np.full((4, 2), 3))
    twos = {"weight": np.full((2, 3), 2, np.float32)}
    two = layer.compile(x, session=session(), weights=twos)
    np.testing.assert_array_equal(run(two, [np.ones((4, 3), np.float32)])[0], np.full((4, 2), 6))


def test_compile_tolerates_weights_that_are_not_used() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used = nn.Linear(3, 2, DType.float32, CPU)
            self.unused = nn.Linear(3, 2, DType.float32, CPU)

        def __call__(self, x: TensorValue) -> TensorValue:
            return self.used(x)

    x = cpu_tensor(DType.float32, ["n", 3])
    Half().compile(x, session=session())
    with pytest.raises(ValueError, match="surplus"):
        Half().compile(x, session=session(), weights={"weight": 0, "surplus": 1})


def test_several_modules_in_one_executable() -> None:
    module = Module()
    x = cpu_tensor(DType.float32, ["n", 3])
    layers = [nn.Linear(3, 2, DType.float32, CPU, name=name) for name in ("a", "b")]
    for name, layer in zip("ab", layers, strict=True):
        graph = layer.trace(x, name=name, module=module)
        assert isinstance(graph, Graph)
    weights = {f"{name}.weight": np.full((2, 3), i, np.float32) for i, name in enumerate("ab", 1)}
    models = session().load_all(module, weights_registry=weights)
    for i, name in enumerate("ab", 1):
        got = run(models[name], [np.ones((1, 3), np.float32)])[0]
        np.testing.assert_array_equal(got, np.full((1, 2), 3 * i))


def test_trace_of_none_and_of_several_outputs() -> None:
    class Pair(nn.Module):
        def __call__(self, x: TensorValue) -> list[TensorValue]:
            return [x + 1, x * 2]

    class Nothing(nn.Module):
        def __call__(self, x: TensorValue) -> None:
            return None

    x = cpu_tensor(DType.float32, [3])
    assert len(Pair().trace(x).output_types) == 2
    assert Nothing().trace(x).output_types == []
    assert Pair().trace(x).name.endswith("Pair")
    assert Pair().trace(x, name="other").name == "other"
