# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import native
import numpy as np
import pytest
from kvern import _runtime
from kvern.engine import cache


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("KVERN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def data() -> bytes:
    return native.executable("int32_t f(void *x) { return 0; }", native.program("f"))


class Compiler:
    """Counts how often it is asked."""

    def __init__(self, data: bytes) -> None:
        self.calls = 0
        self.data = data

    def __call__(self) -> bytes:
        self.calls += 1
        return self.data


def entries(folder: Path) -> list[Path]:
    return list(folder.rglob("*.kvernexe"))


def test_cache_dir(monkeypatch):
    monkeypatch.setenv("KVERN_CACHE_DIR", "/a")
    assert cache.cache_dir() == Path("/a")
    monkeypatch.setenv("KVERN_CACHE_DIR", "")
    assert cache.cache_dir() is None
    monkeypatch.delenv("KVERN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache.cache_dir() == Path("/b/kvern")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/c")
    assert cache.cache_dir() == Path("/c/.cache/kvern")


def test_second_time_is_a_hit(folder, data):
    compiler = Compiler(data)
    for _ in range(3):
        executable = cache.compile_cached("k" * 64, compiler)
        assert executable.to_bytes() == data
    assert compiler.calls == 1
    (entry,) = entries(folder)
    assert entry.read_bytes() == data
    assert stat.S_IMODE(entry.stat().st_mode) & 0o111 == 0


@pytest.mark.parametrize("damage", [b"", b"KVERNEXE", "cut", "flip"])
def test_damaged_entries_are_written_again(folder, data, damage):
    compiler = Compiler(data)
    cache.compile_cached("k" * 64, compiler)
    (entry,) = entries(folder)
    contents = {"cut": data[:-1], "flip": data[:-9] + b"\xff" + data[-8:]}.get(damage, damage)
    # Under the eyes of nobody: the mapped file must not change in place.
    entry.unlink()
    entry.write_bytes(contents)
    assert cache.compile_cached("k" * 64, compiler).to_bytes() == data
    assert compiler.calls == 2 and entry.read_bytes() == data
    assert entries(folder) == [entry]


def test_cache_off(folder, data, monkeypatch):
    monkeypatch.setenv("KVERN_CACHE_DIR", "")
    compiler = Compiler(data)
    for _ in range(2):
        assert cache.compile_cached("k" * 64, compiler).to_bytes() == data
    assert compiler.calls == 2 and not folder.exists()


def test_unusable_folder(data, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("KVERN_CACHE_DIR", str(tmp_path / "file"))
    assert cache.compile_cached("k" * 64, Compiler(data)).to_bytes() == data


def test_key_depends_on_everything(monkeypatch):
    base = cache.cache_key("ir", {"a": 1})
    assert base == cache.cache_key(b"ir", {"a": 1})
    assert len(base) == 64
    assert base != cache.cache_key("ir2", {"a": 1})
    assert base != cache.cache_key("ir", {"a": 2})
    monkeypatch.setattr("kvern.__version__", "other")
    assert base != cache.cache_key("ir", {"a": 1})
    monkeypatch.undo()
    monkeypatch.setattr(_runtime, "host_cpu_features", lambda: ["none"])
    assert base != cache.cache_key("ir", {"a": 1})


def test_atomic_write(tmp_path):
    path = tmp_path / "x"
    cache.write_atomically(str(path), b"1")
    first = os.stat(path).st_ino
    cache.write_atomically(str(path), b"2")
    assert path.read_bytes() == b"2" and os.stat(path).st_ino != first
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        cache.write_atomically(str(tmp_path / "folder"), b"3")
    assert sorted(os.listdir(tmp_path)) == ["folder", "x"]


WARM = """
import time
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, TensorType, ops

with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as graph:
    graph.output(ops.exp(graph.inputs[0].tensor))
session = InferenceSession()
start = time.perf_counter()
session.load(graph)
print(time.perf_counter() - start)
"""


def test_a_warm_load_takes_milliseconds(folder):
    """In other processes than the one that compiled."""
    times = [
        float(subprocess.run([sys.executable, "-c", WARM], capture_output=True, check=True).stdout)
        for _ in range(4)
    ]
    assert len(entries(folder)) == 1
    assert min(times[1:]) < 0.03


def test_packed_weights_are_kept_and_trimmed(folder, monkeypatch):
    path = cache.packed_path("k", 10)
    assert path is not None and path.parent.is_dir() and folder in path.parents
    path.write_bytes(bytes(10))
    os.utime(path, (0, 0))
    # A use is noted.
    assert cache.packed_path("k", 10) == path
    assert path.stat().st_mtime > 0
    cache.trim(folder, 10)
    assert path.is_file()
    cache.trim(folder, 9)
    assert not path.is_file()


def test_packed_weights_that_are_not_kept(folder, monkeypatch):
    monkeypatch.setenv("KVERN_CACHE_SIZE", "1000")
    assert cache.packed_path("k", 500) is not None
    assert cache.packed_path("k", 501) is None
    monkeypatch.setenv("KVERN_CACHE_DIR", "")
    assert cache.packed_path("k", 1) is None
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv("KVERN_CACHE_DIR", str(folder / "file"))
    assert cache.packed_path("k", 1) is None


def test_known_graphs_are_not_built_again(folder):
    from kvern.dtype import DType
    from kvern.engine import InferenceSession
    from kvern.graph import DeviceRef, Graph, TensorType

    def build() -> Graph:
        built.append(1)
        with Graph("f", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as graph:
            graph.output(graph.inputs[0].tensor + 1.0)
        return graph

    built: list[int] = []
    session = InferenceSession()
    for facts, count in (("a", 1), ("a", 1), ("b", 2)):
        model = session.init(session.compile_known(facts, build))
        assert len(built) == count
        assert model.execute(np.ones(2, np.float32))[0].to_numpy().tolist() == [2, 2]


def test_sources_are_followed_through_links(tmp_path, monkeypatch):
    """A build tree links the folders of the package."""
    for name in ("engine", "nn"):
        (tmp_path / "sources" / name).mkdir(parents=True)
        (tmp_path / "sources" / name / "cache.py").write_text("")
    (tmp_path / "package").mkdir()
    for name in ("engine", "nn"):
        (tmp_path / "package" / name).symlink_to(tmp_path / "sources" / name)
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "package" / "engine" / "cache.py"))
    before = cache.sources_id()
    (tmp_path / "sources" / "nn" / "cache.py").write_text("x = 1\n")
    assert cache.sources_id() != before
