# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table from ONNX operators to functions that stage them with kvern ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, ops

CPU = DeviceRef.CPU()
# What the CPU target computes with.
DTYPES = {dtype for dtype in DType if not dtype.is_float()} | {
    DType.float16,
    DType.bfloat16,
    DType.float32,
    DType.float64,
}


class NotMapped(Exception):
    """An ONNX test uses something that the mapping does not have."""


def dtype_of(element_type: int) -> DType:
    """Returns the DType of an ONNX element type.

    Raises:
        NotMapped: There is none, or none that the CPU target has.
    """
    name = onnx.TensorProto.DataType.Name(element_type)
    try:
        dtype = DType.from_numpy(onnx.helper.tensor_dtype_to_np_dtype(element_type))
    except (ValueError, TypeError, KeyError):
        raise NotMapped(f"element type {name}") from None
    if dtype not in DTYPES or (name == "STRING"):
        raise NotMapped(f"element type {name}")
    return dtype


@dataclass
class Entry:
    """A value of the ONNX graph.

    Attributes:
        tensor: The value in the kvern graph; made of `known` when needed.
        known: What it is, when that is known as the graph is built.
        given: What a test gives for an input of the graph.
    """

    tensor: TensorValue | None = None
    known: np.ndarray | None = None
    given: np.ndarray | None = None

    def get(self) -> TensorValue:
        if self.tensor is None:
            assert self.known is not None
            self.tensor = ops.constant(self.known, DType.from_numpy(self.known.dtype), CPU)
        return self.tensor


class Node:
    """A node with its inputs, as mapping functions see it."""

    def __init__(self, proto: Any, inputs: Sequence[Entry | None], opset: int) -> None:
        self.op = proto.op_type
        self.opset = opset
        self.outputs = list(proto.output)
        self._inputs = list(inputs)
        self._attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}

    def __len__(self) -> int:
        return len(self._inputs)

    def has(self, index: int) -> bool:
        return index < len(self._inputs) and self._inputs[index] is not None

    def __getitem__(self, index: int) -> TensorValue:
        entry = self._inputs[index] if self.has(index) else None
        if entry is None:
            raise NotMapped(f"{self.op} without input {index}")
        return entry.get()

    def all(self) -> list[TensorValue]:
        return [self[i] for i in range(len(self))]

    def known(self, index: int, default: Any = None) -> Any:
        """The value of an input that has to be known as the graph is built."""
        entry = self._inputs[index] if self.has(index) else None
        if entry is None:
            return default
        value = entry.known if entry.known is not None else entry.given
        if value is None:
            raise NotMapped(f"{self.op} with a computed input {index}")
        return value

    def ints(self, index: int, name: str, default: Any = None) -> Any:
        """A list of ints that newer opsets have as an input and older ones as an attribute."""
        if self.has(index):
            return [int(i) for i in np.ravel(self.known(index))]
        return list(self._attributes.get(name, [])) if name in self._attributes else default

    def attribute(self, name: str, default: Any = None) -> Any:
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def refuse(self, *names: str) -> None:
        """Raises NotMapped when an attribute is set to something that is not zero."""
        for name in names:
            if self._attributes.get(name):
                raise NotMapped(f"{self.op} with {name}")


Mapping = Callable[[Node], Any]
MAPPING: dict[str, Mapping] = {}


def onnx_op(*names: str) -> Callable[[Mapping], Mapping]:
    """Registers a function for operators."""

    def register(fn: Mapping) -> Mapping:
        MAPPING.update(dict.fromkeys(names, fn))
        return fn

    return register


def axes_of(axes: Sequence[int], rank: int) -> list[int]:
    return sorted(int(axis) % rank for axis in axes)


def sizes(x: TensorValue) -> list[int]:
    """The shape; that of every ONNX node test is static."""
    return [int(dim) for dim in x.shape]
