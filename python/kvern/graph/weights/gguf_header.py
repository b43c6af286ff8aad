# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GGUF file says about itself: metadata, and where each tensor is.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import struct
from dataclasses import dataclass
from typing import Any

from kvern.errors import UnsupportedError, WeightError

__all__ = ["GGUFHeader", "GGUFTensor", "read_gguf_header"]

_MAGIC = b"GGUF"
_STRING, _ARRAY, _BOOL = 8, 9, 7
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    _BOOL: "B",
    10: "Q",
    11: "q",
    12: "d",
}
# Arrays of arrays are legal; so deep, they are not meant.
_MAX_DEPTH = 4
_MAX_AXES = 4
_BITS_64 = 2**63

# Number in the file: name, elements of a block, bytes of a block.
_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}


@dataclass(frozen=True)
class GGUFTensor:
    """A tensor in a file.

    Attributes:
        name: The name.
        type: The element type or format of blocks, such as "F32" or "Q4_1".
        shape: Sizes in elements, the outermost first (the file has the innermost first).
        offset: Where the data begins, in bytes from the begin of the file.
        size: Bytes of the data.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    size: int


@dataclass(frozen=True)
class GGUFHeader:
    """What a file says about itself.

    Attributes:
        metadata: Keys to numbers, bools, texts and lists of them.
        tensors: The tensors by name, in the order of the file.
    """

    metadata: dict[str, Any]
    tensors: dict[str, GGUFTensor]


def read_gguf_header(path: str | os.PathLike[str]) -> GGUFHeader:
    """Reads metadata and places of tensors. The data of tensors is not read.

    Memory is bounded by a multiple of the size of the file, whatever numbers it has.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged: truncated, with sizes that do not fit, or tensors that overlap.
        NotImplementedError: A version or a format of tensors that is not known.
    """
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        if size == 0:
            raise _damaged(path, "it is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _parse(_Reader(data), size)
            except UnsupportedError as error:
                raise UnsupportedError(f"{os.fspath(path)}: {error}") from None
            except (_DamagedError, UnicodeDecodeError) as error:
                raise _damaged(path, str(error)) from None


def _damaged(path: str | os.PathLike[str], why: str) -> WeightError:
    return WeightError(f"expected a GGUF file, but got {os.fspath(path)}: {why}")


class _DamagedError(Exception):
    pass


class _Reader:
    """Reads values one after the other; refuses what would be behind the end."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.size = len(data)
        self.at = 0

    def take(self, count: int, size: int = 1) -> int:
        """Moves on by `count` things of at least `size` bytes; returns where they begin."""
        begin = self.at
        if count * size > self.size - begin:
            raise _DamagedError(
                f"expected {count * size} bytes at offset {begin}, but the file has {self.size - begin} there"
            )
        self.at = begin + count * size
        return begin

    def number(self, code: str) -> Any:
        layout = struct.Struct("<" + code)
        return layout.unpack_from(self.data, self.take(layout.size))[0]

    def text(self) -> str:
        length = self.number("Q")
        begin = self.take(length)
        return self.data[begin : begin + length].decode("utf-8")

    def texts(self, count: int) -> list[str]:
        """Texts of an array: there are many, so this is `text` in one loop."""
        data, at, size, found = self.data, self.at, self.size, []
        unpack = struct.Struct("<Q").unpack_from
        for _ in range(count):
            if size - at < 8:
                raise _DamagedError(f"expected the length of a text at offset {at}")
            begin = at + 8
            at = begin + unpack(data, at)[0]
            if at > size:
                raise _DamagedError(f"expected a text of {at - begin} bytes at offset {begin}")
            found.append(data[begin:at].decode("utf-8", "replace"))
        self.at = at
        return found

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.text()
        if kind in _NUMBERS:
            value = self.number(_NUMBERS[kind])
            return bool(value) if kind == _BOOL else value
        if kind != _ARRAY or depth >= _MAX_DEPTH:
            raise _DamagedError(f"expected a type of values, but got {kind} at offset {self.at}")
        inner, count = self.number("I"), self.number("Q")
        if inner in _NUMBERS:
            code = _NUMBERS[inner]
            begin = self.take(count, struct.calcsize("<" + code))
            values = list(struct.unpack_from(f"<{count}{code}", self.data, begin))
            return [bool(value) for value in values] if inner == _BOOL else values
        # The least that a text or an array takes: so a count beyond the file is refused before it costs memory.
        if count * 8 > self.size - self.at:
            raise _DamagedError(f"expected {count} values at offset {self.at}, beyond the file")
        if inner == _STRING:
            return self.texts(count)
        return [self.value(inner, depth + 1) for _ in range(count)]


def _parse(reader: _Reader, size: int) -> GGUFHeader:
    if reader.data[reader.take(4) : 4] != _MAGIC:
        raise _DamagedError("it does not begin with 'GGUF'")
    version = reader.number("I")
    if version not in (2, 3):
        raise UnsupportedError(f"expected GGUF version 2 or 3, little-endian, but got {version}")
    num_tensors, num_keys = reader.number("Q"), reader.number("Q")
    metadata: dict[str, Any] = {}
    for _ in range(num_keys):
        key = reader.text()
        if key in metadata:
            raise _DamagedError(f"it has the key {key!r} twice")
        metadata[key] = reader.value(reader.number("I"))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise _DamagedError(f"expected an alignment that is a power of two, but got {alignment!r}")
    entries: dict[str, tuple[int, tuple[int, ...], int]] = {}
    for _ in range(num_tensors):
        name = reader.text()
        if name in entries:
            raise _DamagedError(f"it has the tensor {name!r} twice")
        axes = reader.number("I")
        if axes > _MAX_AXES:
            raise _DamagedError(f"expected at most {_MAX_AXES} axes of {name!r}, but got {axes}")
        shape = tuple(reader.number("Q") for _ in range(axes))
        entries[name] = (reader.number("I"), shape[::-1], reader.number("Q"))
    begin = -(-reader.at // alignment) * alignment
    tensors = {
        name: _tensor(name, *entry, begin, alignment, size) for name, entry in entries.items()
    }
    _check_apart(tensors)
    return GGUFHeader(metadata, tensors)


def _tensor(
    name: str, kind: int, shape: tuple[int, ...], offset: int, begin: int, alignment: int, size: int
) -> GGUFTensor:
    if kind not in _TYPES:
        raise UnsupportedError(f"expected a known format of {name!r}, but got number {kind}")
    type_name, elements, bytes_ = _TYPES[kind]
    count = math.prod(shape)
    if count >= _BITS_64 or (shape and shape[-1] % elements):
        raise _DamagedError(
            f"expected {name!r} to have rows of whole blocks of {elements}, but got the shape {list(shape)}"
        )
    length = count // elements * bytes_
    if offset % alignment:
        raise _DamagedError(f"expected {name!r} at a multiple of {alignment}, but got {offset}")
    if begin + offset + length > size:
        raise _DamagedError(
            f"expected {length} bytes of {name!r} at offset {begin + offset}, but the file has {size} bytes in all"
        )
    return GGUFTensor(name, type_name, shape, begin + offset, length)


def _check_apart(tensors: dict[str, GGUFTensor]) -> None:
    placed = sorted((t.offset, t.offset + t.size, t.name) for t in tensors.values() if t.size)
    for (_, end, name), (begin, _, other) in itertools.pairwise(placed):
        if begin < end:
            raise _DamagedError(f"expected tensors apart, but {name!r} and {other!r} overlap")
