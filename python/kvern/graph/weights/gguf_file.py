# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: numbers, and blocks of quantized ones."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import UnsupportedError, WeightError
from kvern.graph._source import located
from kvern.graph.quantization import QuantizationEncoding
from kvern.graph.weights.gguf_header import GGUFHeader, GGUFTensor, read_gguf_header
from kvern.graph.weights.weights import CheckpointTensor, CheckpointWeights

__all__ = ["GGUFWeights", "gguf_tensors"]

_NUMBERS = {
    "F32": DType.float32,
    "F16": DType.float16,
    "BF16": DType.bfloat16,
    "F64": DType.float64,
    "I8": DType.int8,
    "I16": DType.int16,
    "I32": DType.int32,
    "I64": DType.int64,
}


class GGUFWeights(CheckpointWeights):
    """Tensors of a GGUF file, mapped into memory.

    A quantized tensor is a uint8 tensor of its blocks, with the encoding named; formats that have no
    `QuantizationEncoding` are bytes without one.
    """

    def __init__(
        self,
        source: Any,
        tensors: Mapping[str, CheckpointTensor] | None = None,
        prefix: str = "",
        allocated: dict[str, Any] | None = None,
    ) -> None:
        """Opens a file.

        Args:
            source: A path, or a `gguf.GGUFReader`.
            tensors: The tensors, when they are known already.
            prefix: The path to start at.
            allocated: Where `allocate` puts values.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: The file is damaged.
            NotImplementedError: The file is of a version, or has a format of tensors, that is not known.
        """
        if tensors is None and isinstance(source, (str, os.PathLike)):
            try:
                tensors = gguf_tensors(source, read_gguf_header(source))
            except (WeightError, UnsupportedError) as error:
                raise located(type(error), "GGUFWeights", str(error)) from None
        elif tensors is None:
            tensors = {tensor.name: _of_reader(tensor) for tensor in source.tensors}
        super().__init__(tensors, prefix, allocated)


def gguf_tensors(path: str | os.PathLike[str], header: GGUFHeader) -> dict[str, CheckpointTensor]:
    """Returns the tensors of a file, which are mapped when they are loaded.

    Args:
        path: The file; it must keep its size while the tensors are in use.
        header: Of the file.
    """
    return {name: _mapped(os.fspath(path), tensor) for name, tensor in header.tensors.items()}


def _mapped(path: str, tensor: GGUFTensor) -> CheckpointTensor:
    dtype = _NUMBERS.get(tensor.type, DType.uint8)
    shape = tensor.shape
    if tensor.type not in _NUMBERS:
        rows = math.prod(shape[:-1])
        shape = (*shape[:-1], tensor.size // rows if rows else 0)
    load = functools.partial(_map, path, dtype, shape, tensor.offset)
    return CheckpointTensor(dtype, shape, load, _encoding(tensor.type))


def _map(path: str, dtype: DType, shape: tuple[int, ...], offset: int) -> Any:
    from kvern.driver import Buffer

    return Buffer.mmap(path, dtype, shape, offset=offset)


def _encoding(name: str) -> QuantizationEncoding | None:
    known = QuantizationEncoding.__members__.values()
    return next((each for each in known if each.value == name and each.is_gguf), None)


def _of_reader(tensor: Any) -> CheckpointTensor:
    """A tensor of a `gguf.GGUFReader`."""
    name = tensor.tensor_type.name
    dtype = _NUMBERS.get(name)
    if dtype is None:
        dtype, shape = DType.uint8, tuple(map(int, tensor.data.shape))
    else:
        # GGUF lists the innermost axis first.
        shape = tuple(int(size) for size in reversed(tensor.shape))
    return CheckpointTensor(
        dtype, shape, functools.partial(_view, tensor.data, dtype, shape), _encoding(name)
    )


def _view(data: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.asarray(data).view(dtype.to_ml_dtypes()).reshape(shape)
