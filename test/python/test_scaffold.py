# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/new.py on a copy of the tree: the files it touches, and that they are well-formed."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the scaffold may touch."""
    for folder in ("dialect", "lib", "python/kvern", "test", "tools"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__", "*.so"),
        )
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def scaffold(tree: Path, *arguments: str) -> set[str]:
    """Runs tools/new.py and returns the files that changed."""
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    command = [sys.executable, str(tree / "tools/new.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    changed = {
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and before.get(path) != path.read_bytes()
    }
    assert changed <= set(run.stdout.splitlines())
    for name in changed:
        if name.endswith(".py"):
            ast.parse((tree / name).read_text())
    check_ods(tree, [name for name in changed if name.endswith(".td")])
    refuse(tree, *arguments)
    return changed


def refuse(tree: Path, *arguments: str) -> None:
    """The scaffold stops and leaves the tree alone."""
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    command = [sys.executable, str(tree / "tools/new.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode != 0 and "error" in run.stderr
    assert all(path.read_bytes() == text for path, text in before.items())


def check_ods(tree: Path, names: list[str]) -> None:
    """Where the whole SDK is installed, mlir-tblgen reads the records."""
    spec = importlib.util.find_spec("mlir")
    sdk = Path(spec.submodule_search_locations[0]) if spec else None
    if not sdk or not (sdk / "include/mlir/IR/OpBase.td").exists():
        return
    for name in names:
        kind = "-gen-pass-decls" if name.endswith("Passes.td") else "-gen-op-defs"
        command = [sdk / "bin/mlir-tblgen", kind, tree / name, f"-I{tree}", f"-I{sdk / 'include'}"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("family", ["Norm", "Elementwise", "Shape", "Reduction", "Indexing"])
def test_op(tree: Path, family: str):
    module = family.lower()
    changed = scaffold(tree, "op", family, "group_norm")
    expected = {
        f"dialect/ops/{family}.td",
        f"lib/Conversion/KvernToLinalg/{family}.cpp",
        f"python/kvern/graph/ops/{module}.py",
        "python/kvern/graph/ops/__init__.py",
        f"test/Dialect/{module}-invalid.mlir",
        f"test/Conversion/kvern-to-linalg/{module}.mlir",
        f"test/python/op_cases/{module}.py",
        "CHANGELOG.md",
    }
    if family != "Elementwise":
        expected.add(f"dialect/ops/{family}.cpp")
    assert changed == expected
    facade = ast.parse((tree / "python/kvern/graph/ops/__init__.py").read_text())
    assert "group_norm" in ast.literal_eval(assigned(facade, "__all__"))


def test_pass(tree: Path):
    assert scaffold(tree, "pass", "Transforms", "hoist-casts") == {
        "lib/Transforms/Passes.td",
        "lib/Transforms/HoistCasts.cpp",
        "lib/Transforms/CMakeLists.txt",
        "test/Transforms/hoist-casts.mlir",
    }
    assert "  HoistCasts.cpp\n" in (tree / "lib/Transforms/CMakeLists.txt").read_text()


@pytest.mark.parametrize("module", ["group_norm", "norm"])
def test_layer(tree: Path, module: str):
    arguments = ["--module", module] if module == "norm" else []
    assert scaffold(tree, "layer", "GroupNorm", *arguments) == {
        f"python/kvern/nn/{module}.py",
        "python/kvern/nn/__init__.py",
        "test/python/nn/layer_cases.py",
        "CHANGELOG.md",
    }
    for path in (f"python/kvern/nn/{module}.py", "python/kvern/nn/__init__.py"):
        names = ast.literal_eval(assigned(ast.parse((tree / path).read_text()), "__all__"))
        assert "GroupNorm" in names


def test_names_that_are_taken_or_malformed(tree: Path):
    refuse(tree, "op", "Norm", "rms_norm")
    refuse(tree, "op", "Norm", "GroupNorm")
    refuse(tree, "pass", "Transforms", "form-kernels")
    refuse(tree, "layer", "Linear")
    refuse(tree, "layer", "group_norm")


def assigned(module: ast.Module, name: str) -> ast.expr:
    (value,) = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return value
