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
RUNTIME = [
    "CodeImage",
    "DType",
    "DimExpr",
    "ElfObject",
    "Manifest",
    "ObjectLoader",
    "Relocations",
    "SymbolBinding",
]
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


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="session")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program."""
    compiler = find_compiler("c++", "g++", "clang++")
    folder = tmp_path_factory.mktemp("unit")
    probe = folder / "probe.cpp"
    probe.write_text("int main() { return 0; }")
    linked = run([compiler, *SANITIZERS, str(probe), "-o", str(folder / "probe")])
    flags = FLAGS + (SANITIZERS if linked.returncode == 0 else [])

    sources = [ROOT / "lib" / "Runtime" / f"{name}.cpp" for name in RUNTIME]
    sources += sorted(HERE.glob("*.cpp"))
    objects = [folder / f"{source.stem}.o" for source in sources]

    def compile(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
        return run([compiler, *flags, "-c", str(source), "-o", str(target)])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(compile, sources, objects):
            assert result.returncode == 0, result.stderr
    program = folder / "unit"
    result = run([compiler, *flags, *map(str, objects), "-o", str(program)])
    assert result.returncode == 0, result.stderr
    return program


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
    assert sorted(listed) == sorted([*TESTS, *OBJECT_TESTS])


@pytest.mark.parametrize("name", TESTS)
def test_unit(unit: Path, name: str):
    result = run([str(unit), name])
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
