# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values: operators, promotion, conversion, indexing, as far as types tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.staging import staging, tensor
from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError, ShapeError, UnsupportedError
from kvern.graph import BufferType, DeviceRef, Dim, Graph, Shape, TensorValue, ops

N = Dim("n")


def test_members() -> None:
    with staging(["n", 4, 2]) as (x,):
        assert x.shape == ["n", 4, 2] and x.rank == 3
        assert x.dtype is DType.float32 and x.device == DeviceRef.CPU()
        assert x.type == tensor(["n", 4, 2])
        assert x.T.shape == ["n", 2, 4]
        assert x.transpose(0, 1).shape == [4, "n", 2]
        assert x.permute([2, 0, 1]).shape == [2, "n", 4]
        assert x.reshape([-1, 2]).shape == [N * 4, 2]
        assert x.flatten(1).shape == ["n", 8]
        assert x.rebind([3, 4, 2]).shape == [3, 4, 2]
        assert x.cast(DType.float16).dtype is DType.float16
        assert x.cast(DType.float32) is x
        assert x.to(DeviceRef.CPU()) is x
        assert x.broadcast_to([5, "n", 4, 2]).rank == 4
        assert x.sum().shape == ["n", 4, 1]
        assert x.max(0).shape == [1, 4, 2]
        assert x.argmax(1).type == tensor(["n", 1, 2], DType.int64)
        assert x.tensor is x
        with pytest.raises(DTypeError, match="expected a buffer, but got TensorValue"):
            _ = x.buffer
        with pytest.raises(UnsupportedError):
            x.print()


@pytest.mark.parametrize(
    "operate",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a // b,
        lambda a, b: a % b,
        lambda a, b: a**b,
    ],
)
@pytest.mark.parametrize("other", [2, 0.5, np.float32(2), np.int8(2), N, np.ones(4, np.float32)])
def test_arithmetic_both_ways(operate: Any, other: Any) -> None:
    with staging([3, 4], ["n"]) as (x, _):
        assert operate(x, other).type == tensor([3, 4])
        assert operate(other, x).type == tensor([3, 4])


def test_comparisons_and_logic() -> None:
    with staging([3, 4], [4]) as (x, y):
        for result in (x == y, x != y, x < y, x <= 1, 1 > x, x >= y, 2.0 <= x):
            assert result.type == tensor([3, 4], DType.bool)
        a, b = x > y, x < y
        for result in (a & b, a | True, False ^ a, ~a):
            assert result.type == tensor([3, 4], DType.bool)
        assert (-x).type == x.type and abs(x).type == x.type and +x is x
        assert (x @ y).shape == [3] and (np.ones(3, np.float32) @ x).shape == [4]
        assert len({x, y}) == 2


def test_integer_division_is_true_division() -> None:
    with staging(tensor([3], DType.int32)) as (x,):
        assert (x / 2).dtype is DType.float64
        assert (x // 2).dtype is DType.int32


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("int8", "float16", "float16"),
        ("bool", "uint8", "uint8"),
        ("uint8", "int16", "int16"),
        ("float32", "float64", "float64"),
        ("int16", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("uint8", "bfloat16", "bfloat16"),
        ("int32", "int64", "int64"),
    ],
)
def test_promotion(left: str, right: str, common: str) -> None:
    with staging(tensor([2], DType[left]), tensor([2], DType[right])) as (x, y):
        assert (x == y).dtype is DType.bool
        for a, b in ((x, y), (y, x)):
            assert ops.where(True, a, b).dtype is DType[common]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("uint8", "int8"),
        ("int64", "float16"),
        ("int32", "float32"),
        ("float16", "bfloat16"),
        ("float8_e4m3fn", "float8_e5m2"),
    ],
)
def test_no_common_dtype(left: str, right: str) -> None:
    with staging(tensor([2], DType[left]), tensor([2], DType[right])) as (x, y):
        with pytest.raises(DTypeError, match=rf"equal: expected dtypes .* got {left} and {right}"):
            _ = x == y


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (DType.int32, 0.5),
        (DType.uint8, 256),
        (DType.uint8, -1),
        (DType.bool, 2),
        (DType.float16, 1e9),
    ],
)
def test_numbers_must_fit(dtype: DType, number: Any) -> None:
    with staging(tensor([2], dtype)) as (x,):
        with pytest.raises(GraphError, match=f"{dtype} can hold, but got"):
            _ = x == number


def test_conversion() -> None:
    with staging(["n", 4]) as (x,):
        assert TensorValue(x).type == x.type
        assert TensorValue(3).type == tensor([], DType.int64)
        assert TensorValue(3.0).type == tensor([])
        assert TensorValue(N).type == tensor([], DType.int64)
        assert TensorValue(Shape(["n", 2])).type == tensor([2], DType.int64)
        assert TensorValue.from_dim("n").type == tensor([], DType.int64)
        assert TensorValue.from_shape(["n", 2]).type == tensor([2], DType.int64)
        assert TensorValue(np.ones((2, 3), np.int16)).type == tensor([2, 3], DType.int16)
        for wrong in ("x", None, object()):
            with pytest.raises(DTypeError, match="expected a tensor, but got"):
                TensorValue(wrong)


def test_has_no_truth_value() -> None:
    with staging([1]) as (x,):
        with pytest.raises(GraphError, match="no truth value"):
            if x:
                pass


def test_iteration() -> None:
    with staging([3, 4], ["n"]) as (x, y):
        assert [row.shape for row in x] == [[4]] * 3
        with pytest.raises(ShapeError, match="static first axis"):
            list(y)


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        (0, [4, 8]),
        ((slice(None), slice(1, 3)), [2, 2, 8]),
        ((slice(None), -1), [2, 8]),
        ((..., -1), [2, 4]),
        ((slice(None), slice(None, None, 2), slice(-3, None)), [2, 2, 3]),
        ((slice(None), slice(None, None, -1)), [2, 4, 8]),
        ((slice(None), slice(10, 0, -2)), [2, 2, 8]),
        ((slice(5, 9),), [0, 4, 8]),
        ((None, ..., None, 0), [1, 2, 4, 1]),
        ((0, 0, 0), []),
        (Dim(1), [4, 8]),
        (np.int64(1), [4, 8]),
        (..., [2, 4, 8]),
    ],
)
def test_static_index(index: Any, shape: list[int]) -> None:
    with staging([2, 4, 8]) as (x,):
        assert x[index].shape == shape
        assert list(np.empty((2, 4, 8))[_plain(index)].shape) == shape


def _plain(index: Any) -> Any:
    return int(index) if isinstance(index, Dim) else index


def test_named_index() -> None:
    with staging(["n", 512]) as (x,):
        assert x[1:].shape == [N - 1, 512]
        assert x[:-1].shape == [N - 1, 512]
        assert x[-3:].shape == [3, 512]
        assert x[2:5].shape == [3, 512]
        assert x[::2].shape == [(N + 1) // 2, 512]
        assert x[::-1].shape == ["n", 512]
        assert x[-1].shape == [512]
        assert x[:, : Dim("n")].shape == ["n", "n"]
        assert x[N - 1].shape == [512]
        assert x[:] is not None


def test_whole_slice_stages_nothing() -> None:
    with staging(["n", 4]) as (x,):
        assert x[:, 0:4] is x
        assert x[...] is x


def test_runtime_index() -> None:
    with staging(["n", 4], tensor([], DType.int32)) as (x, t):
        assert x[t].shape == [4]
        assert x[:, t].shape == ["n"]
        assert x[(slice(0, t), "m")].shape == ["m", 4]
        assert x[(slice(t, None), "m"), 1].shape == ["m"]
        assert x[0, (slice(t, t + 2), 2)].shape == [2]
        with pytest.raises(ShapeError, match="expected an output size for axis 0"):
            x[:t]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (2, IndexError, "from -2 to 1 for axis 0, but got 2"),
        (-3, IndexError, "from -2 to 1 for axis 0, but got -3"),
        ((0, 0, 0), IndexError, "at most 2 indices, but got 3"),
        ("a", TypeError, "expected an int, a slice"),
        (1.0, TypeError, "expected an int, a slice"),
        (True, TypeError, "expected an int, a slice"),
        ([0, 1], TypeError, "ops.gather"),
        (slice(0, 1, 0), ShapeError, "other than 0, but got 0"),
        (slice(0, 1, 0.5), TypeError, "int as step"),
        (slice("a", 1), TypeError, "as bound, but got 'a'"),
        ((..., ...), GraphError, "at most one"),
    ],
)
def test_bad_index(index: Any, error: type[Exception], message: str) -> None:
    with staging([2, 3]) as (x,):
        with pytest.raises(error, match=message) as caught:
            x[index]
        assert isinstance(caught.value, GraphError)


def test_tensor_index_must_be_a_scalar_integer() -> None:
    with staging([2, 3], [2]) as (x, y):
        with pytest.raises(DTypeError, match="scalar integer tensor"):
            x[y]


def test_buffer() -> None:
    buffer_type = BufferType(DType.float32, ["n", 4], DeviceRef.CPU())
    with Graph("test", input_types=[buffer_type, tensor([], DType.int64)]) as graph:
        buf, t = graph.inputs[0].buffer, graph.inputs[1].tensor
        assert buf.type == buffer_type and buf.shape == ["n", 4] and buf.rank == 2
        assert buf[...].type == buffer_type.as_tensor()
        assert buf[0].shape == [4]
        buf[...] = buf[...] * 2
        buf[0] = np.zeros(4, np.float32)
        buf[1:3, 1:] = np.zeros((2, 3), np.float32)
        buf[t] = np.zeros(4, np.float32)
        with pytest.raises(GraphError, match="buffer_store_slice: expected a source of type"):
            buf[0] = np.zeros(3, np.float32)
        with pytest.raises(
            DTypeError, match=r"expected a tensor, but got BufferValue.*\n.*buffer_load"
        ):
            ops.exp(buf)  # pyright: ignore[reportArgumentType]
        with pytest.raises(DTypeError, match="expected a tensor, but got BufferValue"):
            _ = graph.inputs[0].tensor
