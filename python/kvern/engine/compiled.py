# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of a compilation, before weights are bound."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from kvern import _runtime
from kvern.engine.cache import write_atomically
from kvern.engine.compile_report import CompileReport
from kvern.engine.packed_file import layout_key
from kvern.engine.spec import TensorSpec, spec_of
from kvern.errors import InputError

__all__ = ["CompiledModel"]


class CompiledModel:
    """An executable with one program per graph. It is not callable: `InferenceSession.init` binds its weights.

    It holds no weights and may be initialised any number of times.
    """

    def __init__(
        self, executable: _runtime.Executable, compile_report: CompileReport | None = None
    ) -> None:
        """Wraps an opened executable; made by `InferenceSession.compile`."""
        self._executable = executable
        self._compile_report = compile_report

    def compile_report(self) -> CompileReport | None:
        """Returns where the time of the compilation went; None for an executable from a file."""
        return self._compile_report

    @property
    def manifest(self) -> dict[str, Any]:
        """What the executable says of itself: target, weights, programs and their kernels."""
        return self._manifest

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return self._executable.manifest

    @property
    def graph_names(self) -> list[str]:
        """Names of the programs."""
        return [program["name"] for program in self._manifest["programs"]]

    @property
    def weights(self) -> dict[str, TensorSpec]:
        """The weights that must be bound, by name."""
        specs = {}
        for weight in self._manifest["weights"]:
            if weight["is_external"]:
                dims = [{"text": str(n), "terms": [(0, n)]} for n in weight["shape"]]
                specs[weight["name"]] = spec_of({**weight, "dims": dims})
        return specs

    @property
    def packed_layout(self) -> str:
        """Tells how the weights lie in a file of packed weights: equal for executables that can share one."""
        return layout_key(self._manifest)

    def input_metadata(self, graph_name: str | None = None) -> list[TensorSpec]:
        """Returns the inputs of a program.

        Args:
            graph_name: Which one; may be left out when there is only one.
        """
        return [spec_of(tensor) for tensor in self._program(graph_name)["inputs"]]

    def output_metadata(self, graph_name: str | None = None) -> list[TensorSpec]:
        """Returns the outputs of a program.

        Args:
            graph_name: Which one; may be left out when there is only one.
        """
        return [spec_of(tensor) for tensor in self._program(graph_name)["outputs"]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the executable to a file, which `InferenceSession.load` takes. An old file is replaced at once.

        Args:
            path: Path of the file.

        Raises:
            OSError: The file cannot be written.
        """
        write_atomically(os.fspath(path), self._executable.to_bytes())

    export = save

    def _program(self, name: str | None) -> dict[str, Any]:
        programs = self._manifest["programs"]
        if name is None and len(programs) == 1:
            return programs[0]
        for program in programs:
            if program["name"] == name:
                return program
        raise InputError(f"expected one of the graphs {self.graph_names}, but got {name!r}")

    def __repr__(self) -> str:
        return f"CompiledModel({', '.join(self.graph_names)})"
