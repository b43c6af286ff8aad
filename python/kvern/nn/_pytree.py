# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structured arguments: trees whose leaves are values of a graph.

A tree is a value, None, a list, tuple, named tuple or dict of trees, or an object of the pytree protocol:

    def __tree_flatten__(self) -> tuple[Sequence[tree], metadata]
    @classmethod
    def __tree_unflatten__(cls, metadata, children: Sequence[tree]) -> Self

None has no leaf and comes back as None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kvern.graph import Value

__all__ = ["flatten"]

_Build = Callable[[Iterator[Any]], Any]


def flatten(tree: Any, path: str = "inputs") -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Takes a tree apart.

    Args:
        tree: The tree.
        path: What the tree is called in the error message.

    Returns:
        The leaves in order, and the function that makes the same structure of as many other leaves.

    Raises:
        TypeError: Something in the tree is no tree.
    """
    leaves: list[Any] = []
    build = _flatten(tree, path, leaves)

    def unflatten(new_leaves: list[Any]) -> Any:
        if len(new_leaves) != len(leaves):
            raise ValueError(f"{path}: expected {len(leaves)} leaves, but got {len(new_leaves)}")
        return build(iter(new_leaves))

    return leaves, unflatten


def _flatten(tree: Any, path: str, leaves: list[Any]) -> _Build:
    if tree is None:
        return lambda new: None
    if isinstance(tree, Value):
        leaves.append(tree)
        return next
    if hasattr(tree, "__tree_flatten__"):
        children, metadata = tree.__tree_flatten__()
        builds = _flatten_all(dict(enumerate(children)), path, leaves)
        return lambda new: type(tree).__tree_unflatten__(metadata, [build(new) for build in builds])
    if isinstance(tree, dict):
        builds = _flatten_all(tree, path, leaves)
        return lambda new: {key: build(new) for key, build in zip(tree, builds, strict=True)}
    if isinstance(tree, (list, tuple)):
        builds = _flatten_all(dict(enumerate(tree)), path, leaves)
        make = getattr(type(tree), "_make", type(tree))
        return lambda new: make([build(new) for build in builds])
    raise TypeError(
        f"{path}: expected a value of a graph, a list, tuple or dict of them, None, or an object with "
        f"__tree_flatten__, but got {tree!r}"
    )


def _flatten_all(children: dict[Any, Any], path: str, leaves: list[Any]) -> list[_Build]:
    return [_flatten(child, f"{path}[{key!r}]", leaves) for key, child in children.items()]
