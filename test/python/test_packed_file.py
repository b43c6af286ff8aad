# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights kept in a file as programs read them."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern.dtype import DType
from kvern.engine import CompiledModel, InferenceSession, Model
from kvern.errors import FileError, WeightError
from kvern.graph import DeviceRef, Graph, TensorType, Weight, ops
from tolerances import assert_close

CPU = DeviceRef.CPU()
Weights = dict[str, np.ndarray]


@functools.cache
def compiled(columns: int = 100) -> CompiledModel:
    x = TensorType(DType.float32, ["m", 64], device=CPU)
    with Graph("layer", input_types=[x]) as graph:
        w = graph.add_weight(Weight("w", DType.float32, [columns, 64], CPU))
        b = graph.add_weight(Weight("b", DType.float32, [columns], CPU))
        graph.output(ops.matmul(graph.inputs[0].tensor, ops.transpose(w, 0, 1)) + b)
    return InferenceSession().compile(graph)


@pytest.fixture
def weights() -> Weights:
    random = np.random.default_rng(0)
    return {
        "w": random.standard_normal((100, 64), dtype=np.float32),
        "b": random.standard_normal(100, dtype=np.float32),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "layer.packed"


def load(path: Path, weights: Weights | None = None, **options: Any) -> tuple[Model, list[str]]:
    """A model, and the names of the weights that were prepared for it."""
    seen: list[str] = []
    model = InferenceSession().init(
        compiled(),
        weights_registry=None if weights is None else dict(weights),
        packed_weights=path,
        progress=lambda done, total, name: seen.append(name),
        **options,
    )
    return model, seen


def check(model: Model, weights: Weights) -> None:
    x = np.random.default_rng(1).standard_normal((3, 64), dtype=np.float32)
    exact = x.astype(np.float64) @ weights["w"].astype(np.float64).T + weights["b"]
    assert_close(model(x)[0].to_numpy(), exact, scale=30)


def test_the_first_load_writes_the_file_and_the_next_maps_it(path: Path, weights: Weights) -> None:
    model, seen = load(path, weights)
    assert seen == ["w"]
    check(model, weights)
    written = path.stat()
    model, seen = load(path)
    assert seen == []
    check(model, weights)
    # The same weights, or some of them, are accepted.
    for given in (weights, {"b": weights["b"].copy()}):
        model, seen = load(path, given)
        assert seen == []
        check(model, weights)
    assert path.stat().st_ino == written.st_ino
    # Nothing but the file is left.
    assert os.listdir(path.parent) == [path.name]


def test_a_model_outlives_its_file(path: Path, weights: Weights) -> None:
    load(path, weights)
    model, _ = load(path)
    path.unlink()
    check(model, weights)


def test_other_weights_write_the_file_again(path: Path, weights: Weights) -> None:
    load(path, weights)
    weights["w"] = weights["w"] + 1
    model, seen = load(path, weights)
    assert seen == ["w"]
    check(model, weights)
    model, seen = load(path)
    assert seen == []
    check(model, weights)


def test_some_of_other_weights_are_not_enough(path: Path, weights: Weights) -> None:
    load(path, weights)
    with pytest.raises(WeightError, match="missing: 'w'"):
        load(path, {"b": weights["b"] + 1})
    model, _ = load(path)
    check(model, weights)


def test_without_a_file_weights_are_needed(path: Path) -> None:
    with pytest.raises(WeightError, match="missing: 'w'"):
        load(path)
    assert not path.exists()


def test_wrong_weights_are_named_and_nothing_is_written(path: Path, weights: Weights) -> None:
    with pytest.raises(WeightError, match=r"expected 'w' to be float32\[100, 64\]"):
        load(path, {**weights, "w": weights["w"][:50]})
    with pytest.raises(WeightError, match="unexpected: 'extra'"):
        load(path, {**weights, "extra": weights["b"]})
    assert not path.exists()
    load(path, weights)
    with pytest.raises(WeightError, match="unexpected: 'extra'"):
        load(path, {"extra": weights["b"]})
    load(path, {"extra": weights["b"]}, strict=False)


@pytest.mark.parametrize("size", [9, 31, 40, 500, 4096, -1])
def test_a_truncated_file_is_told_and_written_again(
    path: Path, weights: Weights, size: int
) -> None:
    load(path, weights)
    os.truncate(path, size if size > 0 else path.stat().st_size + size)
    with pytest.raises(WeightError, match="cannot use the packed weights"):
        load(path)
    model, seen = load(path, weights)
    assert seen == ["w"]
    check(model, weights)
    check(load(path)[0], weights)


def test_damaged_descriptions_never_crash(path: Path, weights: Weights) -> None:
    load(path, weights)
    data = path.read_bytes()
    random = np.random.default_rng(2)
    for _ in range(300):
        damaged = bytearray(data)
        for place in random.integers(0, 700, size=3):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        try:
            load(path)
        except (WeightError, FileError):
            pass


def test_the_file_of_another_executable(path: Path, weights: Weights) -> None:
    load(path, weights)
    with pytest.raises(WeightError, match="another executable"):
        InferenceSession().init(compiled(120), packed_weights=path)
    check(load(path)[0], weights)


@pytest.mark.parametrize("content", [b"", b"KVERN", b"something else that somebody wants to keep"])
def test_a_file_of_something_else_is_never_replaced(
    path: Path, weights: Weights, content: bytes
) -> None:
    path.write_bytes(content)
    for given in (None, weights):
        with pytest.raises(FileError, match="expected a file of packed weights"):
            load(path, given)
    assert path.read_bytes() == content


def test_folders_that_do_not_exist(path: Path, weights: Weights) -> None:
    with pytest.raises(FileNotFoundError):
        load(path / "absent", weights)
