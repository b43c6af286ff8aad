# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers as subgraphs, and what their calls return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvern.errors import WeightError
from kvern.graph import Graph
from kvern.nn._pytree import flatten

if TYPE_CHECKING:
    from kvern.nn.layer import Module

__all__ = ["build", "outputs_of"]


def build(module: Module, name: str, inputs: Sequence[Any], weight_prefix: str) -> Graph:
    """Builds the subgraph; see `Module.build_subgraph`."""
    _check_prefix(module, weight_prefix)
    leaves, unflatten = flatten(list(inputs))
    subgraph = Graph.current.add_subgraph(
        name, input_types=[leaf.type for leaf in leaves], weight_prefix=weight_prefix
    )
    with subgraph:
        arguments = unflatten(list(subgraph.inputs))
        subgraph.output(*outputs_of(module(*arguments)))
    return subgraph


def outputs_of(result: Any) -> list[Any]:
    """Returns what a call gave as a list: of one value, several, or none."""
    if result is None:
        return []
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _check_prefix(module: Module, prefix: str) -> None:
    """Refuses a prefix that no weight has: all calls would then use the same weights."""
    names = [weight.name for weight in module.raw_state_dict().values()]
    if names and not any(name.startswith(prefix) for name in names):
        raise WeightError(
            f"build_subgraph: expected weights whose names start with '{prefix}', but got "
            f"{', '.join(names)}\n  note: weights get the names of the whole model when its state_dict or "
            "load_state_dict is called"
        )
