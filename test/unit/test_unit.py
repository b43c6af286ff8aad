# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the C++ unit tests of the runtime, with sanitizers where they are there, and runs each as a test.

They are compiled as the compiler's libraries use the runtime: without exceptions and without type information.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RUNTIME = ROOT / "lib" / "Runtime"
FLAGS = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-fno-exceptions", "-fno-rtti", f"-I{ROOT}"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
OBJECT_FLAGS = {
    "pic": ["-O2", "-fPIC"],
    "pic-vectors": ["-O3", "-fPIC", "-march=x86-64-v2", "-ffast-math"],
    "no-plt": ["-O2", "-fPIC", "-fno-plt"],
    "small": ["-O2", "-fno-pic", "-fno-pie", "-mcmodel=small"],
    "sections": ["-O1", "-fPIC", "-ffunction-sections", "-fdata-sections", "-fcommon"],
    "debug": ["-O0", "-g", "-fPIC", "-fcommon"],
}
TESTS = [
    "manifestRoundTrip",
    "manifestCutAnywhere",
    "manifestMutations",
    "sizesThatOverflow",
    "dimensionArithmetic",
    "bindsBareSymbols",
    "solvesEquations",
    "equationsAtTheEdgesOfNumbers",
    "quotaOfVersion1",
    "quotaOfVersion2",
    "coresOfCpus",
]
POOL_TESTS = [
    "poolRunsEachTaskOnce",
    "poolUsesSeveralThreads",
    "poolWakesNobodyForLittle",
    "poolRunsInnerLoopsInline",
    "poolServesManyCallers",
    "poolSurvivesFork",
    "poolKeepsFloatModes",
    "poolReadsTheEnvironment",
    "poolIgnoresNonsense",
]
OBJECT_TESTS = [
    "objectRuns",
    "objectNamesWhatIsMissing",
    "objectOfAnotherKind",
    "objectCutAnywhere",
    "objectMutations",
]


def find_compiler(*names: str) -> str:
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"none of the compilers {names}")


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )


def build(folder: Path, sources: list[Path], sanitizers: list[str]) -> Path:
    """Compiles and links a test program, with those sanitizers if they are there."""
    compiler = find_compiler("c++", "g++", "clang++")
    probe = folder / "probe.cpp"
    probe.write_text("int main() { return 0; }")
    linked = run([compiler, *sanitizers, str(probe), "-o", str(folder / "probe")])
    flags = FLAGS + (sanitizers if linked.returncode == 0 else [])
    objects = [folder / f"{source.stem}.o" for source in sources]

    def compile(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
        return run([compiler, *flags, "-c", str(source), "-o", str(target)])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(compile, sources, objects):
            assert result.returncode == 0, result.stderr
    program = folder / "unit"
    result = run([compiler, *flags, "-pthread", *map(str, objects), "-o", str(program)])
    assert result.returncode == 0, result.stderr
    return program


@pytest.fixture(scope="session")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program."""
    sources = sorted(RUNTIME.glob("*.cpp")) + sorted(HERE.glob("*.cpp"))
    return build(tmp_path_factory.mktemp("unit"), sources, SANITIZERS)


@pytest.fixture(scope="session")
def races(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests of the thread pool, built to find races."""
    sources = [RUNTIME / "ThreadPool.cpp", RUNTIME / "CpuCount.cpp"]
    sources += [HERE / "ThreadPoolTest.cpp", HERE / "Main.cpp"]
    return build(tmp_path_factory.mktemp("races"), sources, ["-fsanitize=thread"])


@pytest.fixture(scope="session", params=OBJECT_FLAGS)
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object file made from Code.c."""
    compiler = find_compiler("cc", "gcc", "clang")
    path = tmp_path_factory.mktemp("code") / f"{request.param}.o"
    flags = OBJECT_FLAGS[request.param]
    result = run([compiler, "-c", *flags, str(HERE / "Code.c"), "-o", str(path)])
    assert result.returncode == 0, result.stderr
    return path


def test_every_test_is_run(unit: Path):
    listed = run([str(unit)]).stdout.split()
    assert sorted(listed) == sorted([*TESTS, *POOL_TESTS, *OBJECT_TESTS, "capiRunsAModel"])


@pytest.mark.parametrize("name", [*TESTS, *POOL_TESTS])
def test_unit(unit: Path, name: str):
    result = run([str(unit), name])
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", POOL_TESTS)
def test_no_races(races: Path, name: str):
    result = run([str(races), name], TSAN_OPTIONS="die_after_fork=0")
    assert result.returncode == 0, result.stderr


def test_capi(unit: Path, tmp_path: Path):
    compiler = find_compiler("cc", "gcc", "clang")
    target = tmp_path / "program.o"
    flags = ["-O2", "-fPIC"]
    result = run([compiler, "-c", *flags, str(HERE / "Program.c"), "-o", str(target)])
    assert result.returncode == 0, result.stderr
    result = run([str(unit), "capiRunsAModel", str(target), str(tmp_path / "program.kvern")])
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", OBJECT_TESTS)
def test_object(unit: Path, code: Path, name: str):
    result = run([str(unit), name, str(code)])
    assert result.returncode == 0, result.stderr


def test_object_loader_refuses_what_it_cannot_map(unit: Path, tmp_path: Path):
    """Thread-local data and constructors are refused, not ignored."""
    compiler = find_compiler("cc", "gcc", "clang")
    for source, text in {
        "__thread int x; int *f(void) { return &x; }": "thread-local data",
        "int x; __attribute__((constructor)) void f(void) { x = 1; }": "constructors",
    }.items():
        path = tmp_path / "code.c"
        path.write_text(source)
        target = tmp_path / "code.o"
        assert run([compiler, "-c", "-fPIC", str(path), "-o", str(target)]).returncode == 0
        result = run([str(unit), "objectRuns", str(target)])
        assert result.returncode == 1 and text in result.stderr
