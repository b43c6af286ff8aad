# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executable files: saving, opening, and refusing what is damaged or not for this machine."""

from __future__ import annotations

import os
import struct

import native
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvern import _runtime
from kvern.engine import InferenceSession
from kvern.errors import ArtifactError
from native import ADD, F32, SCALE, SYMBOL, WEIGHTS, affine, dim, load, tensor, zeros


def test_save_and_open_again(tmp_path):
    session = InferenceSession()
    compiled = session.compile(affine())
    path = tmp_path / "affine.kvernexe"
    for write in (compiled.save, compiled.export):
        path.write_bytes(b"old")
        write(path)
        assert path.read_bytes() == affine()
        assert os.listdir(tmp_path) == [path.name]
    model = session.load(path, weights_registry=WEIGHTS)
    session.compile(path).save(path)
    assert model(zeros(1, 3))[0].to_numpy().tolist() == [[10, 10, 10]]
    assert session.init(session.compile(path), weights_registry=WEIGHTS)(zeros(2, 3))[0].shape == (
        2,
        3,
    )
    with pytest.raises(OSError):
        compiled.save(tmp_path / "absent" / "x")


def test_file_errors(tmp_path):
    session = InferenceSession()
    with pytest.raises(FileNotFoundError):
        session.compile(tmp_path / "absent")
    with pytest.raises(OSError):
        session.compile(tmp_path)
    for contents in (b"", b"KVERNEXE", bytes(1000)):
        path = tmp_path / "bad"
        path.write_bytes(contents)
        with pytest.raises(ArtifactError, match=r"bad': .*executable"):
            session.load(path)
    with pytest.raises(TypeError, match="int"):
        session.load(3)  # pyright: ignore


def test_other_targets():
    with pytest.raises(ArtifactError, match="for x86_64, but got one for aarch64-linux"):
        load(affine(triple="aarch64-linux"), **WEIGHTS)
    with pytest.raises(ArtifactError, match=r"'warp9'.*lacks: avx1024, telepathy"):
        load(affine(cpu="warp9", cpu_features=["sse2", "avx1024", "telepathy"]), **WEIGHTS)
    assert load(affine(cpu_features=_runtime.host_cpu_features()), **WEIGHTS)
    newer = bytearray(affine())
    newer[8:12] = struct.pack("<I", 99)
    with pytest.raises(ArtifactError, match="version 2, but got 99; compile the model again"):
        load(bytes(newer))


def test_missing_entry():
    with pytest.raises(ArtifactError, match=r"program 'f' \(symbol 'g'\)"):
        load(
            native.executable(
                "int32_t f(void *x) { return 0; }", native.program("f", entry_symbol="g")
            )
        )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_are_refused(data):
    original = affine(constants={0: SCALE.tobytes()})
    kind = data.draw(st.sampled_from(["flip", "cut", "grow", "splice"]))
    changed = bytearray(original)
    position = data.draw(st.integers(0, len(original) - 1))
    if kind == "flip":
        # The two reserved words of the header are not looked at.
        position = position if not 48 <= position < 64 else 0
        changed[position] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del changed[position:]
    elif kind == "grow":
        changed[position:position] = data.draw(st.binary(min_size=1, max_size=100))
    else:
        changed[position : position + 16] = data.draw(st.binary(min_size=0, max_size=8))
    if bytes(changed) != original:
        with pytest.raises(ArtifactError):
            _runtime.Executable.from_bytes(bytes(changed))


@pytest.mark.parametrize(
    "bad",
    [
        {
            "programs": [
                {
                    "name": "f",
                    "inputs": [tensor("x", "n")],
                    "symbols": ["n"],
                    "num_input_symbols": 0,
                }
            ]
        },
        {"programs": [{"name": "f", "inputs": [tensor("x", dim("?", (ADD, 0)))]}]},
        {"programs": [{"name": "f", "inputs": [tensor("x", dim("?"))]}]},
        {"programs": [{"name": "f", "inputs": [tensor("x", dim("?", (9, 0)))]}]},
        {"programs": [{"name": "f", "inputs": [tensor("x", dim("?", (SYMBOL, 3)))]}]},
        {"programs": [{"name": "f", "inputs": [tensor("x"), tensor("x")]}]},
        {"programs": [{"name": "f", "weights": [0]}]},
        {"programs": [{"name": "f"}, {"name": "f"}]},
        {"programs": [], "weights": [{"name": "w", "dtype": F32, "shape": [-1]}]},
        {"programs": [], "weights": [{"name": "w", "dtype": F32, "shape": [2**62, 2**62]}]},
        {"programs": [], "weights": [{"name": "w", "dtype": F32, "shape": [1], "align": 3}]},
        {"programs": [], "weights": [{"name": "w", "dtype": F32, "shape": [1]}] * 2},
    ],
)
def test_inconsistent_manifests(bad):
    data = _runtime.write_executable(bad, [native.compile_c("int32_t f(void *x) { return 0; }")])
    with pytest.raises(ArtifactError, match="manifest"):
        _runtime.Executable.from_bytes(data)
