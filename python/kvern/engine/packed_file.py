# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files with the weights of an executable as its programs read them.

A file holds every weight that programs read and the executable does not hold: those derived at load, and those read
as they are. So it stands for the original weights. The format: a header of 32 bytes (magic, version, bytes of the
description, bytes of the file), the description as JSON, then each tensor at a multiple of 4096 bytes.

The description names the layout (what each tensor is and how it was made) and the content hash of each original
weight. A file of another layout is of no use to an executable; a truncated one is told by its size.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import kvern
from kvern import _runtime
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine.cache import replacing
from kvern.errors import FileError, WeightError

__all__ = ["PackedFile", "layout_key", "read_packed", "write_packed"]

_MAGIC = b"KVERNPKD"
_VERSION = 1
_HEADER = struct.Struct("<8sIIQQ")
_ALIGNMENT = 4096


@dataclass(frozen=True)
class PackedFile:
    """An opened file.

    Attributes:
        tensors: Its tensors by name of the weight, mapped.
        originals: Content hash of each original weight, by name.
    """

    tensors: dict[str, _runtime.Buffer]
    originals: dict[str, str]


def layout_key(manifest: Mapping[str, Any]) -> str:
    """Returns what tells one layout of packed weights from another.

    Args:
        manifest: Of an executable.
    """
    facts: list[Any] = [kvern.__version__]
    for weight in manifest["weights"]:
        derivation = None
        if "initializer" in weight:
            initializer = manifest["initializers"][weight["initializer"]]
            derivation = [initializer["fingerprint"], weight["inputs"]]
        facts.append([weight["name"], weight["dtype"], weight["shape"], derivation])
    facts.append(sorted({i for program in manifest["programs"] for i in program["weights"]}))
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_packed(path: str, key: str) -> PackedFile:
    """Opens a file; what is not touched is not read.

    Args:
        path: Path of the file.
        key: Its layout, from `layout_key`.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It is no file of packed weights.
        ValueError: It is one, but damaged or of another layout.
    """
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
        if head[:8] != _MAGIC:
            raise FileError(f"expected a file of packed weights, but got '{path}'")
        if len(head) != _HEADER.size:
            raise _damaged(path, "it ends within its header")
        _, version, _, length, size = _HEADER.unpack(head)
        if version != _VERSION:
            raise _damaged(path, f"expected format version {_VERSION}, but got {version}")
        actual = os.fstat(file.fileno()).st_size
        if actual != size or length > size:
            raise _damaged(path, f"expected {size} bytes, but got {actual}")
        text = file.read(length)
    try:
        description = json.loads(text)
        if description["layout"] != key:
            raise _damaged(path, "it was written for another executable")
        tensors = {
            name: Buffer.mmap(path, DType(dtype), shape, mode="r", offset=offset)._core
            for name, dtype, shape, offset in description["tensors"]
        }
        return PackedFile(tensors, dict(description["originals"]))
    except (KeyError, TypeError, ValueError, OSError) as error:
        if isinstance(error, WeightError):
            raise
        raise _damaged(path, f"its description cannot be read ({error})") from error


def write_packed(
    path: str, key: str, tensors: Mapping[str, _runtime.Buffer], originals: Mapping[str, str]
) -> None:
    """Writes a file so that others see the old one or the new one, never a part.

    Args:
        path: Path of the file.
        key: Its layout, from `layout_key`.
        tensors: All weights that programs read and the executable does not hold, by name.
        originals: Content hash of each original weight, by name.

    Raises:
        OSError: The file cannot be written.
    """
    entries = [[name, core.dtype, list(core.shape), 0] for name, core in tensors.items()]
    sizes = [_bytes_of(core).nbytes for core in tensors.values()]
    description: dict[str, Any] = {"layout": key, "originals": dict(originals), "tensors": entries}
    # Offsets are part of the text whose length they follow: room for their digits.
    start = _HEADER.size + len(json.dumps(description)) + 20 * len(entries)
    for entry, size in zip(entries, sizes, strict=True):
        entry[3] = start = -(-start // _ALIGNMENT) * _ALIGNMENT
        start += size
    text = json.dumps(description).encode()
    with replacing(path) as file:
        file.write(_HEADER.pack(_MAGIC, _VERSION, 0, len(text), start))
        file.write(text)
        for entry, core in zip(entries, tensors.values(), strict=True):
            file.seek(entry[3])
            file.write(_bytes_of(core))
        file.truncate(start)


def _bytes_of(core: _runtime.Buffer) -> memoryview:
    """The memory of a contiguous tensor."""
    size = core.num_elements * DType(core.dtype).size_in_bytes
    return Buffer._wrap(core.reinterpret(DType.uint8.value, [size])).to_numpy().data


def _damaged(path: str, problem: str) -> WeightError:
    return WeightError(f"cannot use the packed weights '{path}': {problem}")
