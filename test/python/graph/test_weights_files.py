# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights from safetensors and GGUF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kvern.dtype import DType
from kvern.errors import WeightError
from kvern.graph.quantization import QuantizationEncoding
from kvern.graph.weights import (
    GGUFWeights,
    SafetensorWeights,
    WeightData,
    Weights,
    WeightsFormat,
    load_weights,
    weights_format,
)

ARRAYS: dict[str, Any] = {
    "layers.0.w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "layers.1.w": np.arange(3, dtype=np.int16),
    "half": np.arange(5).astype(ml_dtypes.bfloat16),
    "scalar": np.full((), 3.0),
    "empty": np.zeros((0, 2), np.float32),
    "mask": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file(ARRAYS, tmp_path / "a.safetensors")
    return tmp_path / "a.safetensors"


def test_safetensors(path: Path) -> None:
    weights = load_weights([path])
    assert isinstance(weights, SafetensorWeights) and isinstance(weights, Weights)
    assert {name for name, _ in weights.items()} == set(ARRAYS)
    assert [name for name, _ in weights.layers[0].items()] == ["layers.0.w"]
    for name, array in ARRAYS.items():
        data = dict(weights.items())[name].data()
        assert data.name == name and data.dtype is DType.from_numpy(array.dtype)
        np.testing.assert_array_equal(np.asarray(data), array)
    assert weights.layers[0].w.exists() and not weights.layers.exists()
    assert weights.layers[1].w.shape == [3]


def test_astype(path: Path) -> None:
    data = load_weights([path]).half.data().astype(DType.float32)
    assert data.dtype is DType.float32
    np.testing.assert_array_equal(np.asarray(data), np.arange(5, dtype=np.float32))


def test_allocate(path: Path) -> None:
    weights = load_weights([path])
    weight = weights.layers[0].w.allocate(DType.float32, [2, 3])
    assert weight.name == "layers.0.w" and weight.shape == [2, 3]
    assert list(weights.allocated_weights) == ["layers.0.w"]
    as_bytes = weights.half.allocate_as_bytes()
    assert as_bytes.dtype is DType.uint8 and as_bytes.shape == [10]
    with pytest.raises(WeightError, match="with dtype int8, but got float32"):
        weights.layers[0].w.allocate(DType.int8)
    with pytest.raises(WeightError, match="with shape "):
        weights.layers[0].w.allocate(shape=[3, 2])
    with pytest.raises(WeightError, match=r"expected the name of a tensor, but got 'layers\.7\.w'"):
        weights.layers[7].w.data()


def test_two_files_with_one_name(path: Path) -> None:
    with pytest.raises(WeightError, match="each tensor in one file"):
        SafetensorWeights([path, path])


@pytest.mark.parametrize("suffix", ["safetensors", "gguf"])
@pytest.mark.parametrize("data", [b"", b"\xff" * 64, b"\x10" + b"\0" * 7 + b'{"a":{"dtype":1}'])
def test_damaged(tmp_path: Path, suffix: str, data: bytes) -> None:
    pytest.importorskip(suffix)
    bad = tmp_path / f"bad.{suffix}"
    bad.write_bytes(data)
    with pytest.raises(WeightError, match=r"test_weights_files\.py:\d+: .*expected a"):
        load_weights([bad])


def test_truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(WeightError, match="expected a safetensors file"):
        load_weights([path])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_weights([tmp_path / "none.safetensors"])


def test_format() -> None:
    assert weights_format(["a.gguf"]) is WeightsFormat.gguf
    for paths in ([], ["a.bin"], ["a.gguf", "b.safetensors"]):
        with pytest.raises(WeightError, match="expected paths that all end in"):
            weights_format(paths)


def test_gguf(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    array = np.arange(64, dtype=np.float32).reshape(2, 32)
    kind = gguf.GGMLQuantizationType.Q4_0
    writer.add_tensor("blk.0.w", array)
    writer.add_tensor("q", gguf.quants.quantize(np.ones((2, 64), np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    weights = load_weights([path])
    assert isinstance(weights, GGUFWeights)
    np.testing.assert_array_equal(np.asarray(weights.blk[0].w.data()), array)
    data = weights.q.data()
    assert data.quantization_encoding is QuantizationEncoding.Q4_0
    assert data.dtype is DType.uint8 and data.shape == [2, 36]
    with pytest.raises(WeightError, match="Q4_0 blocks"):
        data.astype(DType.float32)


def test_weight_data_speaks_dlpack() -> None:
    data = WeightData.from_numpy(np.arange(3, dtype=np.float32), "w")
    np.testing.assert_array_equal(np.from_dlpack(data), np.arange(3))  # pyright: ignore


def test_quantization() -> None:
    assert QuantizationEncoding("Q4_0").elements_per_block == 32
    assert QuantizationEncoding.Q6_K.block_size == 210
    assert not QuantizationEncoding.GPTQ.is_gguf
    with pytest.raises(ValueError, match="GPTQ has no blocks"):
        _ = QuantizationEncoding.GPTQ.block_parameters
