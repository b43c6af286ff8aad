# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random tensors: each number follows from the seed of the graph, the place of the op, and that of the element."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError
from kvern.graph._convert import to_float, to_tensor
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.ops.constant import range as count_up
from kvern.graph.ops.elementwise import cast, cos, log, sqrt
from kvern.graph.ops.sampling import random_uniform
from kvern.graph.ops.shape import broadcast_to, reshape
from kvern.graph.type import TensorType

if TYPE_CHECKING:
    from kvern.graph.graph import Graph
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["SeedType", "gaussian", "normal", "set_seed", "uniform"]

SeedType = TensorType(DType.uint64, [], DeviceRef.CPU())
"""Of a seed that is a tensor."""

# Streams below it are those of samplers.
_FIRST_STREAM = 1 << 16


@dataclass
class _State:
    seed: TensorValue
    stream: int = _FIRST_STREAM


_states: WeakKeyDictionary[Graph, _State] = WeakKeyDictionary()


def set_seed(seed: TensorValueLike = 0) -> None:
    """Sets the seed of the random ops that follow in the graph.

    Args:
        seed: An int from 0 to below 2^64, or a tensor of `SeedType`, such as an input: other numbers each run.

    Raises:
        TypeError: The seed is something else.
        ValueError: It is negative or too large, or no graph is being built.
    """
    name = "random.set_seed"
    graph = _graph(name)
    value = to_tensor(name, seed, DType.uint64)
    if value.dtype is not DType.uint64 or value.rank != 0:
        raise located(DTypeError, name, f"expected a seed of {SeedType}, but got {value.type}")
    _states[graph] = _State(value)


def uniform(like: TensorType, range: tuple[float, float] = (0, 1)) -> TensorValue:
    """Returns numbers that are uniformly distributed, of 24 random bits each; see `random_uniform`.

    Args:
        like: Element type, a float one, shape and device.
        range: The lowest number, and the one that they stay below, but for rounding.

    Raises:
        TypeError: The element type is not float, or the range not of two numbers.
        ValueError: The graph has no seed.
    """
    name = "random.uniform"
    _check(name, like)
    if not isinstance(range, tuple) or len(range) != 2:
        raise located(DTypeError, name, f"expected two numbers as range, but got {range!r}")
    low, high = (to_float(name, "range", bound) for bound in range)
    return cast(_draw(name, like) * (high - low) + low, like.dtype)


def gaussian(like: TensorType, mean: float = 0.0, std: float = 1.0) -> TensorValue:
    """Returns numbers that are normally distributed, by the transform of Box and Muller (1958).

    Computed in float32 of two uniform numbers of 24 bits; none is further from the mean than 5.8 `std`.

    Args:
        like: Element type, a float one, shape and device.
        mean: The mean.
        std: The standard deviation.

    Raises:
        TypeError: The element type is not float, or a parameter no number.
        ValueError: The graph has no seed.
    """
    name = "random.gaussian"
    _check(name, like)
    mean, std = to_float(name, "mean", mean), to_float(name, "std", std)
    radius = sqrt(log(1.0 - _draw(name, like)) * -2.0)
    angle = _draw(name, like) * (2 * math.pi)
    return cast(radius * cos(angle) * std + mean, like.dtype)


normal = gaussian


def _graph(name: str) -> Graph:
    from kvern.graph.graph import Graph

    return Graph._current_for(name)


def _check(name: str, like: TensorType) -> None:
    if not isinstance(like, TensorType) or not like.dtype.is_float():
        raise located(DTypeError, name, f"expected a TensorType of floats, but got {like!r}")


def _draw(name: str, like: TensorType) -> TensorValue:
    """The next uniform numbers, float32 of the shape of `like`."""
    state = _states.get(_graph(name))
    if state is None:
        raise located(
            GraphError, name, "expected a seed of the graph; call ops.random.set_seed first"
        )
    state.stream += 1
    size = math.prod(like.shape, start=1)
    position = cast(count_up(0, size, dtype=DType.int64, device=like.device), DType.uint64)
    seed = state.seed
    if seed.device != like.device:
        seed = seed.to(like.device)
    seed = broadcast_to(seed, position.shape)
    return reshape(random_uniform(seed, position, stream=state.stream), like.shape)
