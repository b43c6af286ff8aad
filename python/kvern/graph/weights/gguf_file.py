# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: numbers, and blocks of quantized ones."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import UnsupportedError, WeightError
from kvern.graph._source import located
from kvern.graph.quantization import QuantizationEncoding
from kvern.graph.weights.weights import CheckpointTensor, CheckpointWeights

__all__ = ["GGUFWeights"]

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
            NotImplementedError: The package gguf is not installed.
        """
        if tensors is None:
            reader = _read(source) if isinstance(source, (str, os.PathLike)) else source
            tensors = {tensor.name: _tensor(tensor) for tensor in reader.tensors}
        super().__init__(tensors, prefix, allocated)


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        import gguf
    except ImportError:
        raise located(
            UnsupportedError, "GGUFWeights", "reading GGUF files needs the package gguf"
        ) from None
    os.stat(path)
    try:
        return gguf.GGUFReader(path)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise located(
            WeightError, "GGUFWeights", f"expected a GGUF file, but got {os.fspath(path)}: {error}"
        ) from None


def _tensor(tensor: Any) -> CheckpointTensor:
    name = tensor.tensor_type.name
    dtype = _NUMBERS.get(name)
    encoding = None
    if dtype is None:
        known = QuantizationEncoding.__members__.values()
        encoding = next((known for known in known if known.value == name), None)
        dtype, shape = DType.uint8, tuple(map(int, tensor.data.shape))
    else:
        # GGUF lists the innermost axis first.
        shape = tuple(int(size) for size in reversed(tensor.shape))
    return CheckpointTensor(
        dtype, shape, functools.partial(_view, tensor.data, dtype, shape), encoding
    )


def _view(data: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.asarray(data).view(dtype.to_ml_dtypes()).reshape(shape)
