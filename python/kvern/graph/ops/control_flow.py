# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.errors import DTypeError, GraphError
from kvern.graph._convert import to_tensor
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph._staging import classify, current_location, stage

if TYPE_CHECKING:
    from kvern.graph.graph import Graph
    from kvern.graph.value import Value

__all__ = ["call"]


def call(graph: Graph, *args: Any, prefix: str = "") -> list[Value[Any]]:
    """Runs a subgraph on values of the current graph.

    The dims of the subgraph's inputs are matched with those of the arguments: a name stands for any size, the
    same one wherever it occurs.

    Args:
        graph: A subgraph of the graph that is being built, with its outputs set.
        *args: One value for each input, flat.
        prefix: What completes the names of the subgraph's placeholder weights.

    Returns:
        The subgraph's outputs.

    Raises:
        ValueError: The arguments do not fit, the subgraph has no output yet, or it belongs to another module.
    """
    from kvern.graph.graph import Graph
    from kvern.graph.value import BufferValue

    current = Graph._current_for("call")
    if not isinstance(graph, Graph):
        raise located(DTypeError, "call", f"expected a Graph, but got {graph!r}")
    if graph.module is not current.module or graph is current:
        raise located(
            GraphError,
            "call",
            f"expected a subgraph of graph '{current.name}', but got graph '{graph.name}'",
            ["make it with add_subgraph or build_subgraph"],
        )
    if not graph.has_output:
        raise located(
            GraphError,
            "call",
            f"expected a finished subgraph, but '{graph.name}' has no output yet",
        )
    values = [arg if isinstance(arg, BufferValue) else to_tensor("call", arg) for arg in args]
    raw = [value._in_graph(current, "call") for value in values]
    mlir = bindings()
    try:
        results = mlir.ext.infer_call(
            graph._function, [value.type for value in raw], current_location()
        )
    except ValueError as error:
        message, *notes = str(error).split("\n")
        raise located(classify(message), "call", message, notes) from None
    return stage("call", results_=results, callee=graph._symbol, operands_=values, prefix=prefix)
