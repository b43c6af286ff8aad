# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safetensors files with wrong headers are refused in words, and mutated ones are read or refused."""

from __future__ import annotations

import contextlib
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern.errors import UnsupportedError, WeightError
from kvern.graph.weights import SafetensorWeights

pytest.importorskip("safetensors")


def file(header: Any, data: bytes = b"", *, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: str, shape: list[Any], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


DATA = np.arange(8, dtype="<f4").tobytes()
A, B = entry("F32", [2, 2], 0, 16), entry("F32", [4], 16, 32)
VALID = file({"a": A, "b": B}, DATA)
BAD = {
    "empty": b"",
    "short length": b"\1\0\0",
    "huge header": file(b"{}", length=2**40),
    "header longer than the file": file(b"{}", length=100),
    "no JSON": file(b"{" * 40),
    "deep JSON": file(b'{"a":' * 5000),
    "no UTF-8": file(b'{"\xff":1}'),
    "a list": file([A]),
    "overlap": file({"a": A, "b": entry("F32", [4], 8, 24)}, DATA),
    "hole": file({"a": A, "b": entry("F32", [2], 24, 32)}, DATA),
    "backwards": file({"a": entry("F32", [4], 16, 0)}, DATA),
    "behind the end": file({"a": A, "b": entry("F32", [8], 16, 48)}, DATA),
    "too much data": file({"a": A}, DATA),
    "another size": file({"a": entry("F32", [3], 0, 16)}, DATA[:16]),
    "overflow": file({"a": entry("F32", [2**40, 2**40], 0, 16)}, DATA[:16]),
    "negative": file({"a": entry("F32", [-4], 0, 16)}, DATA[:16]),
    "fraction": file({"a": entry("F32", [4.5], 0, 16)}, DATA[:16]),
    "unknown type": file({"a": entry("F31", [4], 0, 16)}, DATA[:16]),
    "no offsets": file({"a": {"dtype": "F32", "shape": [4]}}, DATA[:16]),
}


@pytest.mark.parametrize("case", BAD)
def test_damaged(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(BAD[case])
    with pytest.raises(
        WeightError, match=r"expected a safetensors file, but got .*a\.safetensors: "
    ):
        SafetensorWeights(path)


def test_any_order(tmp_path: Path) -> None:
    """Where data lies says the header, not the order of its names."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(file({"b": B, "a": A}, DATA))
    weights = SafetensorWeights(path)
    np.testing.assert_array_equal(np.asarray(weights.b.data()), np.arange(4, 8))
    np.testing.assert_array_equal(np.asarray(weights.a.data()), [[0, 1], [2, 3]])


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "a.safetensors"
    for _ in range(500):
        data = bytearray(VALID)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randrange(1, 20)]
            else:
                data[at:at] = rng.choice([b"9", b"-", b'"', b"[", b"\0", b"99999999999"])
            data = data or bytearray(1)
        path.write_bytes(data)
        with contextlib.suppress(WeightError, UnsupportedError):
            for _, weight in SafetensorWeights(path).items():
                np.asarray(weight.data()).sum()
