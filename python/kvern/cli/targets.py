# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the argument of a command names: a checkpoint, a graph or an executable."""

from __future__ import annotations

import enum
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvern.errors import InputError

if TYPE_CHECKING:
    from kvern.graph import Graph, Module

__all__ = ["Kind", "kind_of", "load_graph"]

_MAGIC = b"KVERNEXE"


class Kind(enum.Enum):
    """What a target is."""

    CHECKPOINT = "checkpoint"
    GRAPH = "graph"
    EXECUTABLE = "executable"


def kind_of(target: str) -> Kind:
    """Tells what a target is.

    A folder, a `.gguf` or `.safetensors` file, or the name of a model: a checkpoint. A `.mlir` file, or
    `FILE.py:NAME`: a graph. A file that begins as an executable does: an executable.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is none of those.
    """
    path = Path(target)
    if path.is_dir() or path.suffix in (".gguf", ".safetensors"):
        return Kind.CHECKPOINT
    if path.suffix == ".mlir" or ".py:" in target:
        return Kind.GRAPH
    if not path.exists() and path.suffix == "" and os.sep not in target:
        return Kind.CHECKPOINT
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            return Kind.EXECUTABLE
    raise InputError(
        f"expected {target} to be a folder or file of weights (.gguf, .safetensors), a graph (.mlir, FILE.py:NAME) "
        "or an executable, but it is none of them"
    )


def load_graph(target: str) -> Graph | Module:
    """Returns the graph of a `.mlir` file or of `FILE.py:NAME`.

    NAME is a Graph, a Module of graphs, or a function without arguments that returns one.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file holds no graph of that name.
    """
    from kvern.graph import Graph, Module

    if target.endswith(".mlir"):
        return Module.parse(Path(target).read_text(encoding="utf-8"), target)
    file, _, name = target.rpartition(":")
    found: Any = getattr(_import(file), name, None)
    if callable(found) and not isinstance(found, (Graph, Module)):
        found = found()
    if not isinstance(found, (Graph, Module)):
        raise InputError(
            f"expected {name!r} of {file} to be a Graph, a Module of graphs or a function that returns one, "
            f"but got {found!r}"
        )
    return found


def _import(file: str) -> Any:
    """The module of a Python file, which may import its neighbours."""
    path = Path(file).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
