# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF headers: equal to what the package gguf reads; damaged files are refused, quickly and in words."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kvern.errors import UnsupportedError, WeightError
from kvern.graph.weights import GGUFWeights
from kvern.graph.weights.gguf_header import read_gguf_header


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(name: str, shape: list[int], kind: int, offset: int) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def file(
    keys: list[bytes],
    tensors: list[bytes],
    data: bytes = b"",
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    num_tensors, num_keys = counts or (len(tensors), len(keys))
    header = b"GGUF" + struct.pack("<IQQ", version, num_tensors, num_keys)
    header += b"".join([*keys, *tensors])
    return header + b"\0" * (-len(header) % 32) + data


KEYS = [
    key("general.architecture", 8, text("llama")),
    key("number", 4, struct.pack("<I", 7)),
    key("flag", 7, b"\1"),
    key("small", 6, struct.pack("<f", 0.5)),
    key("texts", 9, struct.pack("<IQ", 8, 2) + text("a") + text("ä")),
    key("numbers", 9, struct.pack("<IQ2i", 5, 2, -1, 3)),
    key("nested", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 7, 1) + b"\0"),
]
DATA = np.arange(16, dtype="<f4").tobytes() + bytes(18 * 2)
TENSORS = [tensor("a", [8, 2], 0, 0), tensor("q", [64], 2, 64)]
VALID = file(KEYS, TENSORS, DATA)


def write(folder: Path, data: bytes) -> Path:
    path = folder / "a.gguf"
    path.write_bytes(data)
    return path


def test_valid(tmp_path: Path) -> None:
    path = write(tmp_path, VALID)
    header = read_gguf_header(path)
    assert header.metadata == {
        "general.architecture": "llama",
        "number": 7,
        "flag": True,
        "small": 0.5,
        "texts": ["a", "ä"],
        "numbers": [-1, 3],
        "nested": [[False]],
    }
    assert {t.name: (t.type, t.shape, t.size) for t in header.tensors.values()} == {
        "a": ("F32", (2, 8), 64),
        "q": ("Q4_0", (64,), 36),
    }
    weights = GGUFWeights(path)
    np.testing.assert_array_equal(np.asarray(weights.a.data()), np.arange(16).reshape(2, 8))
    assert weights.q.shape == [36]


def test_like_the_package(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = write(tmp_path, VALID)
    reader = gguf.GGUFReader(path)
    header = read_gguf_header(path)
    assert {t.name: (t.data_offset, t.n_bytes) for t in reader.tensors} == {
        t.name: (t.offset, t.size) for t in header.tensors.values()
    }
    weights = GGUFWeights(reader)
    assert weights.q.shape == [36] and weights.q.quantization_encoding == "Q4_0"


HUGE = 2**62
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "magic": (b"GGML" + VALID[4:], "does not begin with 'GGUF'"),
    "many keys": (file(KEYS, TENSORS, DATA, counts=(2, HUGE)), "bytes at offset"),
    "many tensors": (file(KEYS, TENSORS, DATA, counts=(HUGE, len(KEYS))), "bytes at offset"),
    "long key": (file([struct.pack("<Q", HUGE)], []), "expected .* bytes at offset 32"),
    "long array": (file([key("a", 9, struct.pack("<IQ", 4, HUGE))], []), "bytes at offset"),
    "many texts": (file([key("a", 9, struct.pack("<IQ", 8, HUGE))], []), "beyond the file"),
    "long text in array": (
        file([key("a", 9, struct.pack("<IQQ", 8, 1, HUGE))], []),
        "expected a text of",
    ),
    "deep array": (file([key("a", 9, struct.pack("<IQ", 9, 1) * 9)], []), "type of values"),
    "kind of value": (file([key("a", 13, bytes(8))], []), "type of values, but got 13"),
    "no text": (file([key("a", 8, struct.pack("<Q", 1) + b"\xff")], []), "codec can't decode"),
    "key twice": (file([KEYS[1], KEYS[1]], []), "the key 'number' twice"),
    "tensor twice": (file([], [TENSORS[0]] * 2, DATA), "the tensor 'a' twice"),
    "axes": (file([], [tensor("a", [1] * 5, 0, 0)], DATA), "at most 4 axes of 'a', but got 5"),
    "shape": (file([], [tensor("a", [HUGE, HUGE], 0, 0)], DATA), "whole blocks of 1"),
    "half a block": (file([], [tensor("a", [33], 2, 0)], DATA), "whole blocks of 32"),
    "misaligned": (file([], [tensor("a", [1], 0, 4)], DATA), "at a multiple of 32, but got 4"),
    "behind the end": (file([], [tensor("a", [64], 0, 0)], DATA), "256 bytes of 'a' at offset 64"),
    "overlap": (
        file([], [tensor("a", [16], 0, 0), tensor("b", [4], 0, 32)], DATA),
        "'a' and 'b' overlap",
    ),
    "alignment": (
        file([key("general.alignment", 4, struct.pack("<I", 24))], []),
        "alignment that is a power of two, but got 24",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_damaged(tmp_path: Path, case: str) -> None:
    data, match = BAD[case]
    with pytest.raises(WeightError, match=f"expected a GGUF file, but got .*: .*{match}"):
        read_gguf_header(write(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (file([], [], version=1), "version 2 or 3, little-endian, but got 1"),
        (file([], [], version=3 << 24), "little-endian, but got 50331648"),
        (file([], [tensor("a", [1], 4, 0)], DATA), "known format of 'a', but got number 4"),
    ],
)
def test_unknown(tmp_path: Path, data: bytes, match: str) -> None:
    with pytest.raises(UnsupportedError, match=match):
        read_gguf_header(write(tmp_path, data))


def test_truncated(tmp_path: Path) -> None:
    for length in range(0, len(VALID), 3):
        with pytest.raises(WeightError):
            read_gguf_header(write(tmp_path, VALID[:length]))


def change_byte(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def swap_parts(data: bytearray, rng: random.Random) -> None:
    first, second = sorted(rng.sample(range(0, len(data) - 8, 4), 2))
    data[first : first + 4], data[second : second + 4] = (
        data[second : second + 4],
        data[first : first + 4],
    )


def write_large_number(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) - 8)
    data[at : at + 8] = struct.pack("<Q", rng.choice([2**63, 2**32 - 1, 2**40, 2**64 - 1]))


def drop_part(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 40)]


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    change_byte,
    swap_parts,
    write_large_number,
    drop_part,
]


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    for _ in range(500):
        data = bytearray(VALID)
        for _ in range(rng.randrange(1, 4)):
            rng.choice(MUTATIONS)(data, rng)
        try:
            weights = GGUFWeights(write(tmp_path, bytes(data)))
        except (WeightError, UnsupportedError):
            continue
        for _, path in weights.items():
            np.asarray(path.data()).sum()
