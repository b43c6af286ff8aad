# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A container of graphs that compile into one executable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.errors import GraphError
from kvern.graph._mlir import bindings
from kvern.graph._source import located

if TYPE_CHECKING:
    from kvern.graph.graph import Graph

__all__ = ["Module"]


class Module:
    """Holds one or more graphs; give it to `Graph(module=...)` and then to `InferenceSession`.

    Attributes:
        graphs: The graphs by name, in the order in which they were made; subgraphs are not among them.
    """

    def __init__(self) -> None:
        """Makes an empty module."""
        self.graphs: dict[str, Graph] = {}
        self._op: Any = None
        self._symbols: set[str] = set()

    @classmethod
    def parse(cls, text: str, source: str = "IR") -> Module:
        """Reads a module from IR text, as `str(module)`, a stage or `kvern-opt` gives it.

        The graphs in it can be compiled and shown, but have no `Graph`: `graphs` is empty.

        Args:
            text: The text.
            source: What it is called in the error.

        Raises:
            ValueError: It is no valid module; the message has the place.
        """
        mlir = bindings()
        module = cls()
        try:
            module._op = mlir.ir.Module.parse(text, mlir.context)
        except mlir.ir.MLIRError as error:
            raise GraphError(f"expected a module of graphs in {source}, but got {error}") from None
        return module

    @property
    def mlir_module(self) -> Any:
        """The MLIR module."""
        if self._op is None:
            mlir = bindings()
            unknown = mlir.ir.Location.unknown(mlir.context)
            self._op = mlir.ir.Module.create(unknown)
        return self._op

    def verify(self) -> None:
        """Checks the whole module.

        Raises:
            GraphError: A graph has no output yet, or the IR is inconsistent.
        """
        from kvern.graph._staging import raise_diagnostic

        for graph in self.graphs.values():
            graph._require_output()
        try:
            self.mlir_module.operation.verify()
        except bindings().ir.MLIRError as error:
            raise_diagnostic("module", error)

    def _claim(self, name: str, parent: Graph | None) -> str:
        """Returns the symbol for a new graph or subgraph of that name.

        Raises:
            ValueError: The name is taken.
        """
        if not isinstance(name, str) or not name or "\0" in name:
            raise located(
                GraphError, "Graph", f"expected a name that is not empty, but got {name!r}"
            )
        # The symbol of a graph is its name; that of a subgraph makes way.
        taken = self._symbols if parent is None else parent.subgraphs
        if name in taken:
            where = "module" if parent is None else f"graph '{parent.name}'"
            raise located(
                GraphError, "Graph", f"expected a name that is new in the {where}, but got {name!r}"
            )
        symbol = name
        while parent is not None and symbol in self._symbols:
            symbol = f"{parent.name}.{symbol}"
        self._symbols.add(symbol)
        return symbol

    def __str__(self) -> str:
        return self.mlir_module.operation.get_asm(assume_verified=True, large_elements_limit=16)
