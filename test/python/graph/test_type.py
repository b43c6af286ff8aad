# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes, devices, types."""

from __future__ import annotations

from typing import Any

import pytest
from kvern.dtype import DType
from kvern.errors import DeviceError, ShapeError
from kvern.graph import (
    BufferType,
    DeviceKind,
    DevicePlacementPolicy,
    DeviceRef,
    Dim,
    Shape,
    TensorType,
    Type,
)

CPU = DeviceRef.CPU()


def test_shape() -> None:
    shape = Shape([2, "n", Dim("n") * 2])
    assert shape.rank == 3
    assert shape.static_dims == [2]
    assert shape.parameters == [Dim("n")]
    assert shape == [2, "n", Dim("n") + "n"]
    assert str(Shape([2, 3])) == "[Dim(2), Dim(3)]"
    assert Shape.from_mlir(shape.to_mlir()) == shape


def test_shape_is_static() -> None:
    assert Shape.is_static([2, 0])
    assert not Shape.is_static([2, -1])
    assert not Shape.is_static(Shape(["n"]))


@pytest.mark.parametrize("dims", ["ab", 3, Dim(3)])
def test_shape_refuses_one_dim(dims: Any) -> None:
    with pytest.raises(TypeError, match="expected a list of dims"):
        Shape(dims)


def test_device() -> None:
    assert str(DeviceRef.GPU()) == "gpu:0"
    assert DeviceRef("cpu") == CPU  # pyright: ignore[reportArgumentType]
    assert DeviceRef.from_device(CPU) is CPU
    assert DeviceRef.from_device(CPU.to_device()) == CPU
    assert CPU.is_cpu() and not CPU.is_gpu()
    assert DeviceRef.from_mlir(DeviceRef.GPU(3).to_mlir()) == DeviceRef.GPU(3)
    assert DeviceKind.from_string("gpu") is DeviceKind.GPU
    assert DevicePlacementPolicy("warn") is DevicePlacementPolicy.Warn
    with pytest.raises(DeviceError, match="expected 'cpu' or 'gpu', but got 'tpu'"):
        DeviceKind.from_string("tpu")
    with pytest.raises(DeviceError, match="0 or more"):
        DeviceRef.CPU(-1)
    with pytest.raises(TypeError, match="expected a DeviceRef"):
        DeviceRef.from_device("cpu")


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("cls", [TensorType, BufferType])
def test_round_trip(cls: Any, dtype: DType) -> None:
    t = cls(dtype, ["n", 3, Dim("n") * 2 + 1], DeviceRef.GPU(1))
    assert Type.from_mlir(t.to_mlir()) == t


def test_members() -> None:
    t = TensorType(DType.float32, ["n", 4], CPU)
    assert t.rank == 2
    assert t.num_elements() == Dim("n") * 4
    assert t.as_buffer() == BufferType(DType.float32, ["n", 4], CPU)
    assert t.as_buffer().as_tensor() == t
    assert t.cast(DType.int8).dtype is DType.int8
    assert t != t.as_buffer()
    assert hash(t) == hash(TensorType(DType.float32, ["n", 4], CPU))
    assert repr(t) == "TensorType(float32, [n, 4], cpu:0)"
    assert str(t.to_mlir()) == "!kvern.tensor<[n, 4], f32, cpu:0>"


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"test_type\.py:\d+: TensorType: .* but got -1 at axis 1"):
        TensorType(DType.float32, [2, -1], CPU)
    with pytest.raises(TypeError, match="expected a DType"):
        TensorType("float32", [2], CPU)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="expected a type of kvern"):
        Type.from_mlir(_f32())


def _f32() -> Any:
    from kvern.graph._mlir import bindings

    return bindings().element_types[DType.float32]
