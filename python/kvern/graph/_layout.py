# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places the nodes of a directed acyclic graph in layers.

Source: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981.

1. A node stands one layer below the lowest of those it reads.
2. An edge over several layers gets a place in each of them, so that it runs between the nodes.
3. Within a layer, places are ordered by the mean position of their neighbours above, then, from below, by that of
   their neighbours below.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Layout", "lay_out"]

_GAP = 24.0
_LAYER_GAP = 36.0
_EDGE_WIDTH = 10.0


@dataclass(frozen=True)
class Layout:
    """Where nodes and edges are, in pixels from the top left.

    Attributes:
        centers: Horizontal center of each node.
        tops: Upper side of each node.
        edges: The points that each edge goes through, from the node above to the node below.
        width: Width of the whole.
        height: Height of the whole.
    """

    centers: Sequence[float]
    tops: Sequence[float]
    edges: Mapping[tuple[int, int], Sequence[tuple[float, float]]]
    width: float
    height: float


@dataclass
class _Place:
    """A node, or with number -1 an edge, in a layer."""

    node: int
    width: float
    height: float
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)
    center: float = 0.0
    top: float = 0.0


def lay_out(sizes: Sequence[tuple[float, float]], edges: Iterable[tuple[int, int]]) -> Layout:
    """Places nodes.

    Args:
        sizes: Width and height of each node; nodes come after those they read.
        edges: Pairs (read, reader) of numbers of nodes, the first below the second.
    """
    pairs = sorted(set(edges))
    level = [0] * len(sizes)
    for source, target in sorted(pairs, key=lambda pair: pair[1]):
        level[target] = max(level[target], level[source] + 1)
    places = [_Place(i, *size) for i, size in enumerate(sizes)]
    layers: list[list[_Place]] = [[] for _ in range(max(level, default=-1) + 1)]
    for place in places:
        layers[level[place.node]].append(place)
    routes = {}
    for source, target in pairs:
        route = [places[source]]
        for layer in range(level[source] + 1, level[target]):
            route.append(_Place(-1, _EDGE_WIDTH, 0.0))
            layers[layer].append(route[-1])
        route.append(places[target])
        for upper, lower in itertools.pairwise(route):
            upper.below.append(lower)
            lower.above.append(upper)
        routes[source, target] = route
    for layer in layers:
        _spread(layer)
    for _ in range(2):
        for layer in layers:
            _order(layer, "above")
        for layer in reversed(layers):
            _order(layer, "below")
    left = min((place.center - place.width / 2 for layer in layers for place in layer), default=0.0)
    top = right = 0.0
    for layer in layers:
        height = max(place.height for place in layer)
        for place in layer:
            place.center -= left
            place.top = top
            right = max(right, place.center + place.width / 2)
            if place.node < 0:
                place.height = height
        top += height + _LAYER_GAP
    return Layout(
        [place.center for place in places],
        [place.top for place in places],
        {pair: _points(route) for pair, route in routes.items()},
        right,
        max(top - _LAYER_GAP, 0.0),
    )


def _order(layer: list[_Place], side: str) -> None:
    """Sorts a layer by the mean of the neighbours on one side, and centers it on them."""

    def wanted(place: _Place) -> float:
        neighbours = getattr(place, side)
        if not neighbours:
            return place.center
        return sum(neighbour.center for neighbour in neighbours) / len(neighbours)

    goals = {id(place): wanted(place) for place in layer}
    layer.sort(key=lambda place: goals[id(place)])
    _spread(layer)
    shift = sum(goals[id(place)] - place.center for place in layer) / len(layer)
    for place in layer:
        place.center += shift


def _spread(layer: Sequence[_Place]) -> None:
    """Puts the places of a layer side by side."""
    x = 0.0
    for place in layer:
        place.center = x + place.width / 2
        x += place.width + _GAP


def _points(route: Sequence[_Place]) -> list[tuple[float, float]]:
    points = [(route[0].center, route[0].top + route[0].height)]
    for place in route[1:-1]:
        points += [(place.center, place.top), (place.center, place.top + place.height)]
    return [*points, (route[-1].center, route[-1].top)]
