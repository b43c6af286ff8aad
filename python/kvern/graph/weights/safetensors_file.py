# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safetensors files: a JSON header of names, types and offsets, then the raw bytes."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from kvern.dtype import DType
from kvern.errors import UnsupportedError, WeightError
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.weight import Weight
from kvern.graph.weights.weights import CheckpointTensor, CheckpointWeights

__all__ = ["SafetensorWeights"]

_Path = str | os.PathLike[str]

_DTYPES = {
    "BOOL": DType.bool,
    "I8": DType.int8,
    "I16": DType.int16,
    "I32": DType.int32,
    "I64": DType.int64,
    "U8": DType.uint8,
    "U16": DType.uint16,
    "U32": DType.uint32,
    "U64": DType.uint64,
    "F8_E4M3": DType.float8_e4m3fn,
    "F8_E5M2": DType.float8_e5m2,
    "F8_E8M0": DType.float8_e8m0fnu,
    "F16": DType.float16,
    "BF16": DType.bfloat16,
    "F32": DType.float32,
    "F64": DType.float64,
}


class SafetensorWeights(CheckpointWeights):
    """Tensors of safetensors files, mapped into memory; what is not used is not read."""

    def __init__(
        self,
        filepaths: _Path | Sequence[_Path],
        *,
        tensors: Mapping[str, CheckpointTensor] | None = None,
        prefix: str = "",
        allocated: dict[str, Any] | None = None,
    ) -> None:
        """Opens files. They must keep their size while the weights are in use.

        Args:
            filepaths: One path, or those of the parts of a checkpoint.
            tensors: The tensors, when they are known already.
            prefix: The path to start at.
            allocated: Where `allocate` puts values.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: A file is damaged, or two have a tensor of the same name.
        """
        if tensors is None:
            paths = [filepaths] if isinstance(filepaths, (str, os.PathLike)) else filepaths
            found: dict[str, CheckpointTensor] = {}
            for path in [os.fspath(path) for path in paths]:
                part = _open(path)
                twice = sorted(found.keys() & part.keys())
                if twice:
                    raise located(
                        WeightError,
                        "SafetensorWeights",
                        f"expected each tensor in one file, but {path} has {twice[0]!r} again",
                    )
                found.update(part)
            tensors = found
        super().__init__(tensors, prefix, allocated)

    def allocate_as_bytes(
        self, dtype: DType | None = None, device: DeviceRef | None = None
    ) -> Weight:
        """Returns a uint8 graph weight for the bytes of the tensor of this name.

        The last axis counts bytes. The value joins `allocated_weights`.

        Args:
            dtype: The element type expected; that of the file by default.
            device: Where the weight is to live; the CPU by default.

        Raises:
            ValueError: There is no such tensor, it is a scalar, or of another type.
        """
        tensor = self._tensor()
        if not tensor.shape or (dtype is not None and dtype is not tensor.dtype):
            what = "a scalar" if not tensor.shape else str(tensor.dtype)
            raise located(
                WeightError,
                "allocate_as_bytes",
                f"expected {self._prefix!r} to have axes and dtype {dtype or 'any'}, but got {what}",
            )
        shape = (*tensor.shape[:-1], tensor.shape[-1] * tensor.dtype.size_in_bytes)
        self._allocated[self._prefix] = tensor.load().view(DType.uint8, shape)
        return Weight(self._prefix, DType.uint8, shape, device or DeviceRef.CPU())


def _open(path: str) -> dict[str, CheckpointTensor]:
    try:
        import safetensors
    except ImportError:
        raise located(
            UnsupportedError,
            "SafetensorWeights",
            "reading safetensors files needs the package safetensors",
        ) from None
    os.stat(path)
    # The library checks the header against the file: types, sizes, offsets, overlaps.
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except safetensors.SafetensorError as error:
        raise located(
            WeightError,
            "SafetensorWeights",
            f"expected a safetensors file, but got {path}: {error}",
        ) from None
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    tensors: dict[str, CheckpointTensor] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise located(
                UnsupportedError,
                "SafetensorWeights",
                f"expected a known dtype for {name!r} in {path}, but got {entry['dtype']}",
            )
        shape, offset = tuple(entry["shape"]), 8 + length + entry["data_offsets"][0]
        load = functools.partial(_map, path, dtype, shape, offset)
        tensors[name] = CheckpointTensor(dtype, shape, load)
    return tensors


def _map(path: str, dtype: DType, shape: tuple[int, ...], offset: int) -> Any:
    from kvern.driver import Buffer

    return Buffer.mmap(path, dtype, shape, offset=offset)
