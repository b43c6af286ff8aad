# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables of several objects, which the loader links, and damaged ones."""

from __future__ import annotations

import struct

import native
import numpy as np
import pytest
from kvern import _runtime
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.errors import ArtifactError

HOST = """
extern int64_t twice(int64_t);
extern int64_t counter;
int32_t entry(struct KvernFrame *frame) {
  int64_t dims[1] = {2};
  int64_t *out = kvern_rt_output(frame, 0, 1, dims);
  out[0] = twice(*(int64_t *)frame->inputs[0]);
  out[1] = ++counter;
  return 0;
}
"""
KERNEL = """
extern int64_t thrice(int64_t);
int64_t counter = 40;
static int64_t helper(int64_t x) { return thrice(x) - x; }
int64_t twice(int64_t x) { return helper(x); }
"""
OTHER = """
static int64_t helper(int64_t x) { return 3 * x; }
int64_t thrice(int64_t x) { return helper(x); }
"""


def entry_program() -> dict[str, object]:
    x = {"dtype": DType.int64.value, "kind": "tensor"}
    return native.program(
        "entry",
        inputs=[{**x, "name": "x", "dims": [1]}],
        outputs=[{**x, "name": "y", "dims": [2]}],
    )


def write(*sources: str, flags: tuple[str, ...] = ()) -> bytes:
    objects = [native.compile_c(source, *flags) for source in sources]
    return _runtime.write_executable({"programs": [native.program("entry")]}, objects)


def checksum(data: bytes) -> int:
    """The checksum of an executable, as lib/Runtime/Executable.cpp defines it."""
    mask = (1 << 64) - 1

    def mix(state: int, word: int) -> int:
        state = ((state ^ word) * 0x9E3779B97F4A7C15) & mask
        return state ^ (state >> 32)

    body = data[64:]
    manifest, constants, _, count = struct.unpack_from("<4Q", data, 16)
    lanes = [1, 2, 3, 4]
    whole = len(body) // 32 * 32
    for words in struct.iter_unpack("<4Q", body[:whole]):
        lanes = [mix(lane, word) for lane, word in zip(lanes, words, strict=True)]
    state = len(body)
    for part in (manifest, constants, count):
        state = mix(state, part)
    for byte in body[whole:]:
        state = mix(state, byte)
    for lane in lanes:
        state = mix(state, lane)
    return state


def signed(data: bytes) -> bytes:
    """The file with the checksum that its contents ask for."""
    return data[:48] + struct.pack("<Q", checksum(data)) + data[56:]


def table_offset(data: bytes) -> int:
    """Where the sizes of the objects begin."""
    manifest, constants = struct.unpack_from("<2Q", data, 16)
    return 64 + (manifest + 63) // 64 * 64 + constants


@pytest.mark.parametrize("flags", [(), ("-O0", "-fPIC"), ("-O2", "-fno-pic", "-mcmodel=small")])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_objects_find_each_other(flags, order):
    """Functions and data of other objects, and statics of one name that stay apart."""
    sources = [(HOST, KERNEL, OTHER)[i] for i in order]
    objects = [native.compile_c(source, *flags) for source in sources]
    data = _runtime.write_executable({"programs": [entry_program()]}, objects)
    model = InferenceSession().load(data)
    for run in range(3):
        (out,) = model(Buffer.from_numpy(np.array([21], np.int64)))
        assert out.to_numpy().tolist() == [42, 41 + run]


def test_checksum_of_the_test_is_that_of_the_file():
    data = write(HOST, KERNEL, OTHER)
    assert signed(data) == data


def test_symbols_that_are_missing_or_twice():
    with pytest.raises(ArtifactError, match="no symbol named 'counter', 'thrice', 'twice'"):
        _runtime.Executable.from_bytes(
            write(HOST, "extern int64_t thrice(int64_t); int64_t f(void) { return thrice(1); }")
        )
    with pytest.raises(ArtifactError, match="two symbols named 'thrice'"):
        _runtime.Executable.from_bytes(write(HOST, KERNEL, OTHER, OTHER))
    with pytest.raises(ArtifactError, match="no code in it"):
        _runtime.Executable.from_bytes(write())


def test_runtime_functions_cannot_be_replaced():
    """A global of an object wins in that file alone; the table of the runtime is closed."""
    with pytest.raises(ArtifactError, match="no symbol named 'system'"):
        _runtime.Executable.from_bytes(
            write("extern int system(const char *); int32_t entry(void *x) { return system(0); }")
        )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (40, 2, "damaged"),
        (40, 4, "damaged"),
        (40, 1 << 40, "a table of"),
        (40, (1 << 64) - 1, "a table of"),
        (32, 0, "bytes of code"),
    ],
)
def test_wrong_counts(field, value, message):
    data = write(HOST, KERNEL, OTHER)
    bad = signed(data[:field] + struct.pack("<Q", value) + data[field + 8 :])
    with pytest.raises(ArtifactError, match=message):
        _runtime.Executable.from_bytes(bad)


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("change", [-64, -1, 1, 64, 1 << 40, "max"])
def test_wrong_sizes(index, change):
    data = write(HOST, KERNEL, OTHER)
    at = table_offset(data) + 8 * index
    (size,) = struct.unpack_from("<Q", data, at)
    new = (1 << 64) - 1 if change == "max" else size + change
    bad = signed(data[:at] + struct.pack("<Q", new) + data[at + 8 :])
    with pytest.raises(ArtifactError):
        _runtime.Executable.from_bytes(bad)


def test_bytes_changed_anywhere_in_the_code():
    """With a checksum that agrees: refused, or loaded, but never read beyond the file."""
    data = write(HOST, KERNEL, OTHER)
    start = table_offset(data)
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(150):
        bad = bytearray(data)
        for at in rng.integers(start, len(data), 4):
            bad[at] = rng.integers(256)
        try:
            _runtime.Executable.from_bytes(signed(bytes(bad)))
        except ArtifactError:
            refused += 1
    assert refused > 0
