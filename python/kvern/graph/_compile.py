# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a staged graph to the bytes of an executable, or to the IR after any stage of the compiler."""

from __future__ import annotations

import io
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import kvern
from kvern.errors import CompileError
from kvern.graph._mlir import bindings
from kvern.graph._staging import raise_diagnostic
from kvern.graph.graph import Graph
from kvern.graph.module import Module

__all__ = ["compile_graph_module", "serialize_module", "stage", "stage_names"]

# Passes load dialects into the context, which no other pass may be using then.
_lock = threading.Lock()


def stage_names() -> list[str]:
    """Returns the names of the compiler's stages, in order."""
    return list(bindings().ext.stage_names())


def stage(model: Graph | Module, name: str, options: Mapping[str, Any] | None = None) -> str:
    """Returns the IR after a stage.

    Args:
        model: A graph, or a module of graphs.
        name: One of `stage_names()`; `"binary"` gives assembly.
        options: See `compile_graph_module`.

    Raises:
        ValueError: The graph is not complete.
        RuntimeError: The compiler failed, or there is no such stage; see `compile_graph_module`.
    """
    module = _module_of(model)
    try:
        with _lock:
            return bindings().ext.print_stage(module, name, **dict(options or {}))
    except RuntimeError as error:
        known = name if name in stage_names() else "graph"
        _raise(error.args[0], _text_of(module), f"kvern-stage={known}")


def compile_graph_module(
    model: Graph | Module,
    options: Mapping[str, Any] | None = None,
    *,
    build: str = "",
    kernel_folder: str = "",
    use_cache: bool = True,
    progress: Callable[[int, int, str], object] | None = None,
) -> tuple[bytes, dict[str, Any]]:
    """Returns an executable of one or more graphs, and where the time went.

    Args:
        model: A graph, or a module of graphs.
        options: `cpu` and `features` as LLVM names them; those of this machine by default.
        build: What tells this build of the compiler from others.
        kernel_folder: Folder of compiled kernels, for this process and others; empty for none.
        use_cache: Whether compiled kernels are looked for and kept at all.
        progress: Called as parts are done: how many, of how many, the name of the last one. What it raises ends the
            compilation and is raised here.

    Raises:
        ValueError: The graph is not complete.
        RuntimeError: The compiler failed. The message gives the user's line, a file with the IR that shows the
            failure, and the `kvern-opt` command to see it again.
    """
    module = _module_of(model)
    try:
        with _lock:
            data, report = bindings().ext.compile(
                module,
                **dict(options or {}),
                version=kvern.__version__,
                build=build,
                kernel_folder=kernel_folder,
                use_cache=use_cache,
                progress=progress,
            )
    except RuntimeError as error:
        if len(error.args) != 2:
            raise
        diagnostics, kernel = error.args
        if kernel:
            _raise(diagnostics, kernel, "kvern-kernels-to-target")
        _raise(diagnostics, _text_of(module), "kvern-stage=target")
    return data, json.loads(report)


def serialize_module(model: Graph | Module) -> bytes:
    """Returns everything that compilation depends on, as MLIR bytecode.

    Raises:
        ValueError: The graph is not complete.
    """
    buffer = io.BytesIO()
    _module_of(model).write_bytecode(buffer)
    return buffer.getvalue()


def _module_of(model: Graph | Module) -> Any:
    """The verified module operation that holds just the graphs of `model`."""
    module = model.module if isinstance(model, Graph) else model
    wanted = [model] if isinstance(model, Graph) else list(module.graphs.values())
    for graph in wanted:
        graph._require_output()
    operation = module.mlir_module.operation
    if len(wanted) < len(module.graphs):
        operation = operation.clone().operation
        symbols = {graph._symbol for graph in wanted}
        for function in list(operation.regions[0].blocks[0]):
            attributes = function.operation.attributes
            if (
                attributes["sym_visibility"].value == "public"
                and attributes["sym_name"].value not in symbols
            ):
                function.operation.erase()
    try:
        operation.verify()
    except bindings().ir.MLIRError as error:
        raise_diagnostic("graph", error)
    return operation


def _text_of(module: Any) -> str:
    return module.get_asm(enable_debug_info=True)


def _raise(diagnostics: str, ir: str, command: str) -> NoReturn:
    """Raises CompileError, after writing the IR to a file that shows the failure again."""
    descriptor, path = tempfile.mkstemp(prefix="kvern-reproducer-", suffix=".mlir")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(ir)
        file.write("\n")
    lines = [line for line in diagnostics.splitlines() if "note: see current operation" not in line]
    text = "\n".join(lines).strip() or "the compiler failed without a message"
    raise CompileError(
        f"{text}\n"
        f"  the IR is in {path}; to see the failure again:\n"
        f"    kvern-opt --{command} {path}"
    ) from None
