# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who may use whom: the includes of the C++ sources and the imports of the Python package.

The CMake targets say the same for what is linked; a header that needs no linking would slip through there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Folder: what it may include, besides itself. In the order of use.
CPP = {
    "lib/Runtime": set(),
    "dialect": set(),
    "lib/Support": {"dialect"},
    "lib/Conversion": {"dialect", "lib/Support"},
    "lib/Transforms": {"dialect", "lib/Support"},
    "lib/Codegen": {"dialect", "lib/Support"},
    "lib/Pipelines": {"dialect", "lib/Conversion", "lib/Transforms", "lib/Codegen"},
    "lib/Registration": {
        "dialect",
        "lib/Conversion",
        "lib/Transforms",
        "lib/Codegen",
        "lib/Pipelines",
    },
    # Writes what the runtime reads, so the format's code is the runtime's.
    "lib/Target": {"dialect", "lib/Support", "lib/Codegen", "lib/Pipelines", "lib/Runtime"},
    "lib/CAPI": {"dialect", "lib/Pipelines", "lib/Registration", "lib/Target"},
    "python/bindings": {"lib/CAPI"},
    # The builders, generated from the ops.
    "python/bindings/mlir": {"dialect"},
    "python/bindings/runtime": {"lib/Runtime"},
    "tools": {"lib/Registration"},
    "test/unit": {"lib/Runtime"},
}
# What may use MLIR's and LLVM's headers.
MLIR_FREE = {"lib/Runtime", "python/bindings/runtime", "test/unit"}
# The C++ API of MLIR stays behind the C API: the two are built with other flags.
C_API_ONLY = {"python/bindings"}

# Subpackage of kvern: what it may import, besides itself.
PYTHON = {
    "errors": set(),
    "interrupts": set(),
    "dtype": {"errors"},
    "tools": {"errors"},
    "driver": {"dtype", "errors", "_runtime"},
    "graph": {"dtype", "errors", "interrupts", "driver", "_mlir"},
    "engine": {"dtype", "errors", "driver", "graph", "_runtime"},
    "nn": {"dtype", "errors", "driver", "graph", "engine"},
    "kv_cache": {"dtype", "errors", "driver", "graph", "engine", "nn"},
    "models": {"dtype", "errors", "driver", "graph", "engine", "nn", "kv_cache"},
    "pipelines": {
        "dtype",
        "errors",
        "interrupts",
        "driver",
        "graph",
        "engine",
        "nn",
        "kv_cache",
        "models",
    },
    "cli": {
        "dtype",
        "errors",
        "driver",
        "graph",
        "engine",
        "nn",
        "kv_cache",
        "models",
        "pipelines",
    },
}
# The only modules that know MLIR's bindings.
MLIR_MODULES = {"graph/_mlir.py", "graph/_source.py"}


def cpp_files() -> list[Path]:
    folders = [ROOT / "dialect", ROOT / "lib", ROOT / "python/bindings", ROOT / "tools"]
    files = [f for folder in [*folders, ROOT / "test/unit"] for f in folder.rglob("*")]
    return sorted(f for f in files if f.suffix in (".cpp", ".h", ".td", ".c"))


def folder_of(path: str) -> str:
    """The longest folder of the table that holds a file."""
    return max((f for f in CPP if path.startswith(f + "/")), key=len, default="")


def test_every_source_is_in_a_known_folder():
    unknown = [f for f in cpp_files() if not folder_of(str(f.relative_to(ROOT)))]
    assert unknown == []


@pytest.mark.parametrize("folder", CPP)
def test_includes(folder: str):
    wrong = []
    for path in cpp_files():
        name = str(path.relative_to(ROOT))
        if folder_of(name) != folder:
            continue
        # A .td includes what mlir-tblgen finds; its own includes follow the same rule.
        for header in re.findall(r'^#?include ["<]([^">]+)[">]', path.read_text(), re.MULTILINE):
            used = folder_of(header)
            if used and used != folder and used not in CPP[folder]:
                wrong.append(f"{name} includes {header}")
            is_cpp_api = header.startswith(("mlir/", "llvm/"))
            is_mlir = is_cpp_api or header.startswith(("mlir-c/", "llvm-c/"))
            python_api = header.startswith("mlir/Bindings/Python/")
            if folder in MLIR_FREE and is_mlir:
                wrong.append(f"{name} includes {header}, of MLIR or LLVM")
            if folder in C_API_ONLY and is_cpp_api and path.suffix != ".td" and not python_api:
                wrong.append(f"{name} includes {header}, of MLIR's C++ API")
    assert wrong == []


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """What a module imports of kvern, as "graph.ops", with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: expected an absolute import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("kvern."):
                yield name.removeprefix("kvern."), node.lineno


def python_modules(*folders: str) -> list[Path]:
    return sorted(f for folder in folders for f in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("package", PYTHON)
def test_imports(package: str):
    wrong = []
    root = ROOT / "python/kvern"
    for path in python_modules("python/kvern"):
        name = path.relative_to(root)
        if name.parts[0].removesuffix(".py") != package:
            continue
        for used, line in imports(path):
            top = used.split(".")[0]
            if top == "__version__" or top == package:
                continue
            if top not in PYTHON[package]:
                wrong.append(f"{name}:{line} imports kvern.{used}")
            elif top == "_mlir" and str(name) not in MLIR_MODULES:
                wrong.append(f"{name}:{line} imports MLIR's bindings")
    assert wrong == []


def test_every_subpackage_is_known():
    names = {p.name.removesuffix(".py") for p in (ROOT / "python/kvern").iterdir()}
    names -= {"__init__", "__pycache__", "py.typed", "_runtime.pyi"}
    assert names == set(PYTHON)


def test_examples_use_public_names_only():
    for path in python_modules("examples"):
        for used, line in imports(path):
            private = [part for part in used.split(".") if part.startswith("_")]
            assert not private, f"{path.name}:{line} imports kvern.{used}"
