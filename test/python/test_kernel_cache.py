# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels are compiled once: in a graph, in a process, and on a machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from compiling import cpu_tensor
from kvern.dtype import DType
from kvern.engine import CompileReport, InferenceSession, cache
from kvern.errors import InputError
from kvern.graph import Graph, TensorValue, ops
from kvern.graph._mlir import bindings

F32 = DType.float32


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache on disk, and none in memory."""
    monkeypatch.setenv("KVERN_CACHE_DIR", str(tmp_path / "cache"))
    bindings().ext.clear_kernels()
    return tmp_path / "cache"


def graph_of(fn: Callable[[TensorValue], list[TensorValue]], name: str = "g") -> Graph:
    with Graph(name, input_types=[cpu_tensor(F32, ["n", 12])]) as graph:
        graph.output(*fn(graph.inputs[0].tensor))
    return graph


def compile(graph: Graph) -> tuple[bytes, CompileReport]:
    compiled = InferenceSession().compile(graph)
    report = compiled.compile_report()
    assert report is not None
    return compiled._executable.to_bytes(), report


def sources(report: CompileReport) -> dict[str, str]:
    return {kernel.name: kernel.source for kernel in report.kernels}


def softmax(x: TensorValue) -> list[TensorValue]:
    return [ops.softmax(x)]


def softmax_and_sum(x: TensorValue) -> list[TensorValue]:
    return [ops.softmax(x), ops.sum(x, axis=0)]


def test_a_second_graph_compiles_only_what_is_new(folder: Path):
    _, first = compile(graph_of(softmax))
    assert sources(first) == {"kernel_softmax": "compiled"}
    _, second = compile(graph_of(softmax_and_sum))
    assert sources(second)["kernel_softmax"] == "memory"
    assert [name for name, source in sources(second).items() if source == "compiled"] == [
        "kernel_sum"
    ]
    assert second.num_cached_kernels == 1

    bindings().ext.clear_kernels()
    _, third = compile(graph_of(lambda x: [ops.softmax(ops.softmax(x))], name="other"))
    assert sources(third) == {"kernel_softmax": "disk"}


def test_the_cache_can_be_off(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Then the memory of the process is still used."""
    monkeypatch.setenv("KVERN_CACHE_DIR", "")
    for expected in ("compiled", "memory"):
        _, report = compile(graph_of(softmax))
        assert sources(report) == {"kernel_softmax": expected} and not report.is_cached
    assert not folder.exists()


def test_names_and_lines_do_not_matter(folder: Path):
    """A kernel has one key wherever it is staged and whatever the graph calls it."""
    compile(graph_of(softmax))
    one, two = (graph_of(lambda x: [ops.softmax(x)], name=name) for name in ("one", "two"))
    assert sources(compile(one)[1]) == sources(compile(two)[1]) == {"kernel_softmax": "memory"}


def test_kernels_that_become_equal_are_one(folder: Path):
    """Addition is the same for both kinds of integers, once they are memory."""
    types = [cpu_tensor(DType.int32, ["n"]), cpu_tensor(DType.uint32, ["n"])]
    with Graph("g", input_types=types) as graph:
        graph.output(*(value.tensor + value.tensor for value in graph.inputs))
    for _ in range(2):
        model = InferenceSession().load(graph)
        report = model.compile_report()
        assert report is not None and len(report.kernels) == (0 if report.is_cached else 1)
        a, b = np.array([-1, 2**30], np.int32), np.array([2**31, 5], np.uint32)
        first, second = (out.to_numpy() for out in model(a, b))
        assert first.tolist() == [-2, -(2**31)] and second.tolist() == [0, 10]
        bindings().ext.clear_kernels()
        for path in folder.rglob("*.kvernexe"):
            path.unlink()


def test_features_of_the_target_matter(folder: Path):
    from kvern.graph._compile import compile_graph_module

    graph = graph_of(softmax)
    for options in ({}, {"cpu": "x86-64"}, {"cpu": "x86-64", "features": "+avx"}):
        for expected in ("compiled", "memory"):
            _, report = compile_graph_module(graph, options, kernel_folder=cache.kernel_dir())
            assert report["parts"]["kernel_softmax"]["source"] == expected


def test_equal_bytes_whatever_is_cached(folder: Path):
    """Cold, with one kernel known, and with all of them; from memory and from disk."""
    graph = graph_of(softmax_and_sum)

    def fresh() -> bytes:
        for path in folder.rglob("*.kvernexe"):
            path.unlink()
        return compile(graph)[0]

    cold = fresh()
    assert fresh() == cold
    bindings().ext.clear_kernels()
    assert fresh() == cold
    bindings().ext.clear_kernels()
    for path in folder.rglob("*.kvernkernel"):
        path.unlink()
    compile(graph_of(softmax, name="before"))
    assert fresh() == cold


@pytest.mark.parametrize("damage", ["empty", "cut", "flip", "magic", "longer"])
def test_damaged_kernels_are_compiled_again(folder: Path, damage: str):
    data, _ = compile(graph_of(softmax))
    (path,) = folder.rglob("*.kvernkernel")
    good = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": good[:-1],
            "flip": good[:60] + bytes([good[60] ^ 1]) + good[61:],
            "magic": b"KVERNKR0" + good[8:],
            "longer": good + b"\0",
        }[damage]
    )
    bindings().ext.clear_kernels()
    again, report = compile(graph_of(softmax, name="g2"))
    assert sources(report) == {"kernel_softmax": "compiled"}
    assert path.read_bytes() == good and len(again) == len(data)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("KVERN_CACHE_DIR", str(tmp_path / "file"))
    bindings().ext.clear_kernels()
    _, report = compile(graph_of(softmax))
    assert sources(report) == {"kernel_softmax": "compiled"}


def test_threads_compile_at_once(folder: Path):
    """All get the right executable, and the same one."""

    def work(i: int) -> bytes:
        graph = graph_of(softmax if i % 2 else softmax_and_sum, name=f"g{i % 4}")
        model = InferenceSession().load(graph)
        x = np.random.default_rng(i).standard_normal((3, 12), np.float32)
        expected = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        np.testing.assert_allclose(model(x)[0].to_numpy(), expected, rtol=1e-5)
        return compile(graph)[0]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(16)))
    for i in range(4):
        assert len(set(results[i::4])) == 1


PROGRAM = """
import hashlib, os, sys
if sys.argv[2] == "1":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
sys.path.insert(0, sys.argv[1])
from test_kernel_cache import compile, graph_of, softmax_and_sum
data, report = compile(graph_of(softmax_and_sum))
print(hashlib.sha256(data).hexdigest(), report.is_cached)
"""


def run_program(cores: str = "all") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), cores]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_equal_bytes_with_one_thread(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KVERN_CACHE_DIR", "")
    digest, _ = run_program(cores="1").communicate()[0].split()
    assert digest == hashlib.sha256(compile(graph_of(softmax_and_sum))[0]).hexdigest()


def test_processes_compile_at_once(folder: Path):
    """They share a folder, and none sees half an entry."""
    running = [run_program() for _ in range(4)]
    lines = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    data, _ = compile(graph_of(softmax_and_sum))
    assert {digest for digest, _ in lines} == {hashlib.sha256(data).hexdigest()}
    assert not list(folder.rglob("*.tmp"))
    assert len(list(folder.rglob("*.kvernexe"))) == 1


def test_progress(folder: Path):
    calls: list[tuple[int, int, str]] = []
    InferenceSession().compile(graph_of(softmax_and_sum), progress=lambda *args: calls.append(args))
    assert [done for done, _, _ in calls] == [1, 2, 3]
    assert {total for _, total, _ in calls} == {3}
    assert {name for *_, name in calls} == {"host", "kernel_softmax", "kernel_sum"}


def test_progress_that_raises_ends_the_compilation(folder: Path):
    calls: list[str] = []

    def stop(done: int, total: int, name: str) -> None:
        calls.append(name)
        raise KeyboardInterrupt(name)

    with pytest.raises(KeyboardInterrupt):
        InferenceSession().compile(graph_of(softmax_and_sum), progress=stop)
    # Those that other threads were at may still come.
    assert calls
    assert not list(folder.rglob("*.kvernexe"))


def test_report(folder: Path):
    _, report = compile(graph_of(softmax_and_sum))
    assert 0 < sum(report.stages.values()) <= report.seconds
    assert ["optimized", "kernels", "loops", "binary"] == [
        name for name in report.stages if name in ("optimized", "kernels", "loops", "binary")
    ]
    for part in report.parts:
        assert part.seconds >= 0 and (part.object_bytes > 0 or part.name == "graph")
    for name in ("canonicalize", "kvern-bufferize", "llvm-optimize", "llvm-codegen"):
        assert report.passes[name] > 0
    text = str(report)
    for word in ("kernel_softmax", "llvm-codegen", "2 kernels", "0 of them from the cache"):
        assert word in text
    model = InferenceSession().load(graph_of(softmax_and_sum))
    assert model.compile_report() is not None


def test_report_of_a_warm_load(folder: Path):
    graph = graph_of(softmax)
    compile(graph)
    _, report = compile(graph)
    assert report.is_cached and report.parts == () and "cache" in str(report)
    data = InferenceSession().compile(graph)._executable.to_bytes()
    assert InferenceSession().compile(data).compile_report() is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 2 << 30),
        ("1000", 1000),
        ("3K", 3072),
        ("5M", 5 << 20),
        ("2GiB", 2 << 30),
        ("1 tb", 1 << 40),
    ],
)
def test_cache_size(text: str, size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KVERN_CACHE_SIZE", text)
    assert cache.cache_size() == size


def test_wrong_cache_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KVERN_CACHE_SIZE", "much")
    with pytest.raises(InputError, match="expected KVERN_CACHE_SIZE to be a size"):
        cache.cache_size()


def test_trimming_removes_what_was_used_longest_ago(tmp_path: Path):
    now = time.time()
    names = ["aa/a.kvernexe", "kernels/bb/b.kvernkernel", "aa/c.kvernexe", "dd/d.kvernexe"]
    for age, name in enumerate(names):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (now - age, now - age))
    (tmp_path / "mine.txt").write_bytes(b"x" * 1000)
    stale, fresh = tmp_path / ".x.tmp", tmp_path / ".y.tmp"
    stale.write_bytes(b"")
    fresh.write_bytes(b"")
    os.utime(stale, (now - 3600, now - 3600))

    def left() -> list[str]:
        return [name for name in names if (tmp_path / name).exists()]

    cache.trim(tmp_path, 400)
    assert left() == names and not stale.exists() and fresh.exists()
    cache.trim(tmp_path, 250)
    assert left() == names[:2]
    cache.trim(tmp_path, 0)
    assert left() == [] and (tmp_path / "mine.txt").exists()
    cache.trim(tmp_path / "absent", 0)


def test_compiling_trims_and_using_keeps(folder: Path, monkeypatch: pytest.MonkeyPatch):
    old = graph_of(softmax)
    compile(old)
    long_ago = time.time() - 10_000
    for path in folder.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    _, report = compile(old)
    assert report.is_cached
    (entry,) = folder.rglob("*.kvernexe")
    assert entry.stat().st_mtime > long_ago + 1

    size = entry.stat().st_size
    monkeypatch.setenv("KVERN_CACHE_SIZE", str(size))
    (folder / ".trimmed").unlink()
    compile(graph_of(softmax_and_sum))
    assert sum(path.stat().st_size for path in folder.rglob("*.kvern*")) <= size
