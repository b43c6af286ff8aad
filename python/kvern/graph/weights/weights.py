# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a checkpoint, by name and by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from kvern.dtype import DType
from kvern.errors import WeightError
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.quantization import QuantizationEncoding
from kvern.graph.shape import Shape, ShapeLike
from kvern.graph.weight import Weight

__all__ = ["CheckpointTensor", "CheckpointWeights", "WeightData", "Weights", "WeightsAdapter"]

_Self = TypeVar("_Self", bound="CheckpointWeights")


@dataclass
class WeightData:
    """The value of a weight, with what is known of it; an array that speaks DLPack.

    Attributes:
        data: The array.
        name: The tensor's name.
        dtype: The element type.
        shape: The sizes.
        quantization_encoding: How the bytes of a quantized tensor are to be read.
    """

    data: Any
    name: str
    dtype: DType
    shape: Shape
    quantization_encoding: QuantizationEncoding | None = None

    @classmethod
    def from_numpy(cls, arr: np.ndarray[Any, Any], name: str) -> WeightData:
        """Returns an array with its description; nothing is copied."""
        return cls(arr, name, DType.from_numpy(arr.dtype), Shape(arr.shape))

    def astype(self, dtype: DType) -> WeightData:
        """Returns the value in another element type; itself when it has that type.

        Raises:
            ValueError: The data is quantized.
        """
        if dtype is self.dtype:
            return self
        if self.quantization_encoding is not None:
            raise located(
                WeightError,
                "astype",
                f"expected a tensor of numbers, but got {self.quantization_encoding.value} blocks",
            )
        return WeightData.from_numpy(np.asarray(self).astype(dtype.to_ml_dtypes()), self.name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.data.to_numpy() if hasattr(self.data, "to_numpy") else np.asarray(self.data)
        array = array if dtype is None else array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def _buffer(self) -> Any:
        from kvern.driver import Buffer

        return Buffer.from_dlpack(self.data)

    def __dlpack__(self, **kwargs: Any) -> Any:
        """Exports the array."""
        return self._buffer().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        """Returns where the array lives."""
        return self._buffer().__dlpack_device__()


@runtime_checkable
class Weights(Protocol):
    """Tensors by path: `weights.layers[0].weight` stands for the name `layers.0.weight`."""

    @property
    def name(self) -> str:
        """The name so far."""
        ...

    def items(self) -> Iterator[tuple[str, Any]]:
        """Gives the full name of each tensor below the path, with the path that ends at it."""
        ...

    def exists(self) -> bool:
        """Whether a tensor has exactly this name."""
        ...

    def data(self) -> WeightData:
        """Returns the tensor of this name."""
        ...

    def allocate(
        self,
        dtype: DType | None = None,
        shape: ShapeLike | None = None,
        quantization_encoding: QuantizationEncoding | None = None,
        device: DeviceRef | None = None,
    ) -> Weight:
        """Returns a graph weight for the tensor of this name."""
        ...

    @property
    def allocated_weights(self) -> dict[str, Any]:
        """The values of the weights allocated so far, by name: a weights registry."""
        ...


# Renames the tensors of a checkpoint to the names of a model.
WeightsAdapter = Callable[..., dict[str, WeightData]]


@dataclass(frozen=True)
class CheckpointTensor:
    """A tensor in a file.

    Attributes:
        dtype: The element type of what is stored.
        shape: The sizes of what is stored.
        load: Maps or reads the data.
        encoding: How quantized bytes are to be read.
    """

    dtype: DType
    shape: tuple[int, ...]
    load: Callable[[], Any]
    encoding: QuantizationEncoding | None = None


class CheckpointWeights:
    """Tensors of one or more files, by path; see `Weights`."""

    def __init__(
        self,
        tensors: Mapping[str, CheckpointTensor],
        prefix: str = "",
        allocated: dict[str, Any] | None = None,
    ) -> None:
        self._tensors = tensors
        self._prefix = prefix
        self._allocated: dict[str, Any] = {} if allocated is None else allocated

    def _at(self: _Self, name: str) -> _Self:
        child = object.__new__(type(self))
        CheckpointWeights.__init__(child, self._tensors, name, self._allocated)
        return child

    def __getattr__(self: _Self, name: str) -> _Self:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._at(f"{self._prefix}.{name}" if self._prefix else name)

    def __getitem__(self: _Self, index: int | str) -> _Self:
        return self._at(f"{self._prefix}.{index}" if self._prefix else str(index))

    @property
    def name(self) -> str:
        """The name so far."""
        return self._prefix

    def items(self: _Self) -> Iterator[tuple[str, _Self]]:
        """Gives the full name of each tensor at or below the path, with the path that ends at it."""
        for name in self._tensors:
            if not self._prefix or name == self._prefix or name.startswith(self._prefix + "."):
                yield name, self._at(name)

    def exists(self) -> bool:
        """Whether a tensor has exactly this name."""
        return self._prefix in self._tensors

    def _tensor(self) -> CheckpointTensor:
        found = self._tensors.get(self._prefix)
        if found is None:
            near = [name for name in self._tensors if name.startswith(self._prefix)]
            listed = ", ".join((near or list(self._tensors))[:5])
            raise located(
                WeightError,
                "weights",
                f"expected the name of a tensor, but got {self._prefix!r}",
                [f"there are {len(self._tensors)} tensors, among them {listed}"],
            )
        return found

    @property
    def dtype(self) -> DType:
        """The element type of the tensor of this name."""
        return self._tensor().dtype

    @property
    def shape(self) -> Shape:
        """The sizes of the tensor of this name."""
        return Shape(self._tensor().shape)

    @property
    def quantization_encoding(self) -> QuantizationEncoding | None:
        """How the bytes of the tensor of this name are to be read; None when they are numbers."""
        return self._tensor().encoding

    def raw_tensor(self) -> Any:
        """Returns the array of this name.

        Raises:
            ValueError: There is no such tensor.
        """
        return self._tensor().load()

    def data(self) -> WeightData:
        """Returns the tensor of this name.

        Raises:
            ValueError: There is no such tensor.
        """
        tensor = self._tensor()
        return WeightData(
            tensor.load(), self._prefix, tensor.dtype, Shape(tensor.shape), tensor.encoding
        )

    def allocate(
        self,
        dtype: DType | None = None,
        shape: ShapeLike | None = None,
        quantization_encoding: QuantizationEncoding | None = None,
        device: DeviceRef | None = None,
    ) -> Weight:
        """Returns a graph weight for the tensor of this name; its value joins `allocated_weights`.

        Args:
            dtype: The element type expected; that of the file by default.
            shape: The sizes expected; those of the file by default.
            quantization_encoding: The encoding expected; that of the file by default.
            device: Where the weight is to live; the CPU by default.

        Raises:
            ValueError: There is no such tensor, or it is not what is expected.
        """
        tensor = self._tensor()
        given = (
            ("dtype", dtype, tensor.dtype),
            ("shape", None if shape is None else Shape(shape), Shape(tensor.shape)),
            ("quantization encoding", quantization_encoding, tensor.encoding),
        )
        for what, expected, found in given:
            if expected is not None and expected != found:
                raise located(
                    WeightError,
                    "allocate",
                    f"expected {self._prefix!r} with {what} {expected}, but got {found}",
                )
        self._allocated[self._prefix] = tensor.load()
        return Weight(
            self._prefix, tensor.dtype, tensor.shape, device or DeviceRef.CPU(), tensor.encoding
        )

    @property
    def allocated_weights(self) -> dict[str, Any]:
        """The values of the weights allocated so far, by name: a weights registry."""
        return dict(self._allocated)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._prefix!r}, {len(self._tensors)} tensors)"
