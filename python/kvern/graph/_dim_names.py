# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which names of dims a graph knows: those of its inputs, and those that its ops bind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kvern.errors import ShapeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located

if TYPE_CHECKING:
    from kvern.graph.graph import Graph
    from kvern.graph.value import Value

__all__ = ["check_dim_names", "learn_dim_names"]


def check_dim_names(graph: Graph, op: str, name: str, attributes: Mapping[str, Any]) -> set[str]:
    """Returns the names of dims that an op binds.

    Args:
        graph: The graph that is being built.
        op: The op's name in the dialect.
        name: The op's name for the error message.
        attributes: Its attributes.

    Raises:
        ShapeError: The op uses a name that nothing has given a size.
    """
    bound: set[str] = set()
    for key, attribute in attributes.items():
        names = set(_names(attribute))
        # What `rebind` and the sizes of slices name is bound when the graph runs.
        if key == "out_dims" or (op, key) == ("rebind", "shape"):
            bound |= names
        elif not names <= graph._dim_names:
            known = ", ".join(sorted(graph._dim_names)) or "none"
            unknown = ", ".join(sorted(names - graph._dim_names))
            raise located(
                ShapeError,
                name,
                f"expected dims that the graph knows, but got {unknown}",
                [f"it knows {known}; inputs, rebind, and slices with a named size bind names"],
            )
    return bound


def learn_dim_names(graph: Graph, values: Iterable[Value[Any]]) -> None:
    """Adds the names in the types of values, as of inputs and results of calls."""
    for value in values:
        graph._dim_names.update(str(name) for name in value.type.shape.parameters)


def _names(attribute: Any) -> Iterable[str]:
    mlir = bindings()
    if isinstance(attribute, mlir.ir.ArrayAttr):
        return [name for item in attribute for name in _names(item)]
    if not isinstance(attribute, mlir.ir.Attribute):
        return ()
    if mlir.ext.ShapeAttr.isinstance(attribute):
        return [name for dim in mlir.ext.ShapeAttr(attribute).dims for name in _names(dim)]
    if mlir.ext.DimAttr.isinstance(attribute):
        return mlir.ext.DimAttr(attribute).symbols
    return ()
