# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a weight is divided among devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvern.errors import ShapeError
from kvern.graph import ops
from kvern.graph._source import located
from kvern.graph.dim import StaticDim
from kvern.graph.shape import Shape

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue
    from kvern.graph.weight import Weight

__all__ = ["ShardingStrategy"]

# A range along an axis.
_Range = tuple[int, int]


@dataclass(frozen=True)
class ShardingStrategy:
    """Divides a weight into one part a device.

    Attributes:
        num_devices: How many parts.
        shard: Stages part i of a weight: `shard(weight, i)`.
        shape: Sizes of part i of a weight of given sizes, where they are known without staging.
        kind: Name of the pattern, for `is_rowwise` and the like.
    """

    num_devices: int
    shard: Callable[[Weight, int], TensorValue]
    shape: Callable[[Shape, int], Shape] | None = None
    kind: str = "custom"

    @property
    def is_rowwise(self) -> bool:
        """Whether the parts are rows."""
        return self.kind == "rowwise"

    @property
    def is_colwise(self) -> bool:
        """Whether the parts are columns."""
        return self.kind == "columnwise"

    @property
    def is_replicate(self) -> bool:
        """Whether every device gets the whole weight."""
        return self.kind == "replicate"

    @staticmethod
    def axiswise(axis: int, num_devices: int) -> ShardingStrategy:
        """Divides along an axis; when that is uneven, the first parts are longer by one."""
        return _pieces("axiswise", axis, num_devices, lambda size, i: [_even(size, num_devices, i)])

    @staticmethod
    def rowwise(num_devices: int) -> ShardingStrategy:
        """Divides along axis 0."""
        return _pieces("rowwise", 0, num_devices, lambda size, i: [_even(size, num_devices, i)])

    @staticmethod
    def columnwise(num_devices: int) -> ShardingStrategy:
        """Divides along axis 1."""
        return _pieces("columnwise", 1, num_devices, lambda size, i: [_even(size, num_devices, i)])

    @staticmethod
    def expert_parallel(num_devices: int) -> ShardingStrategy:
        """Divides stacked experts, along axis 0."""
        return _pieces(
            "expert_parallel", 0, num_devices, lambda size, i: [_even(size, num_devices, i)]
        )

    @staticmethod
    def replicate(num_devices: int) -> ShardingStrategy:
        """Gives every device the whole weight."""
        return ShardingStrategy(
            num_devices,
            lambda weight, i: ops.reshape(weight, weight.shape),
            lambda shape, i: Shape(shape),
            "replicate",
        )

    @staticmethod
    def stacked_qkv(num_devices: int, num_heads: int, head_dim: int) -> ShardingStrategy:
        """Divides query, key and value projections stacked along axis 0, each by heads.

        Args:
            num_devices: How many parts.
            num_heads: Heads of each of the three.
            head_dim: Rows of a head.
        """

        def ranges(size: int, i: int) -> list[_Range]:
            first, last = _even(num_heads, num_devices, i)
            block = num_heads * head_dim
            return [(b * block + first * head_dim, b * block + last * head_dim) for b in range(3)]

        return _pieces("stacked_qkv", 0, num_devices, ranges)

    @staticmethod
    def gate_up(num_devices: int, axis: int = 2) -> ShardingStrategy:
        """Divides a gate and an up projection joined along an axis, each on its own.

        Args:
            num_devices: How many parts.
            axis: The axis along which the two are joined.
        """

        def ranges(size: int, i: int) -> list[_Range]:
            first, last = _even(size // 2, num_devices, i)
            return [(first, last), (size // 2 + first, size // 2 + last)]

        return _pieces("gate_up", axis, num_devices, ranges)

    @staticmethod
    def head_aware_columnwise(num_devices: int, num_heads: int, head_dim: int) -> ShardingStrategy:
        """Divides along axis 1 at the bounds of heads.

        Args:
            num_devices: How many parts.
            num_heads: Heads along the axis.
            head_dim: Columns of a head.
        """

        def ranges(size: int, i: int) -> list[_Range]:
            first, last = _even(num_heads, num_devices, i)
            return [(first * head_dim, last * head_dim)]

        return _pieces("head_aware_columnwise", 1, num_devices, ranges)


def _even(size: int, parts: int, i: int) -> _Range:
    """Range i of `size` elements in `parts` ranges, of which the first ones are longer by one."""
    quotient, rest = divmod(size, parts)
    return i * quotient + min(i, rest), (i + 1) * quotient + min(i + 1, rest)


def _pieces(
    kind: str, axis: int, num_devices: int, ranges: Callable[[int, int], list[_Range]]
) -> ShardingStrategy:
    if num_devices < 1:
        raise located(
            ShapeError,
            f"ShardingStrategy.{kind}",
            f"expected 1 or more devices, but got {num_devices}",
        )

    def size_of(shape: Shape) -> int:
        dim = shape[axis] if -len(shape) <= axis < len(shape) else None
        if not isinstance(dim, StaticDim):
            text = ", ".join(map(str, shape))
            raise located(
                ShapeError,
                f"ShardingStrategy.{kind}",
                f"expected a weight with a static axis {axis}, but got shape [{text}]",
            )
        return dim.dim

    def shard(weight: Weight, i: int) -> TensorValue:
        place = axis % weight.rank
        parts = [
            weight[(slice(None),) * place + (slice(first, last),)]
            for first, last in ranges(size_of(weight.shape), i)
        ]
        return parts[0] if len(parts) == 1 else ops.concat(parts, axis=axis)

    def shape(whole: Shape, i: int) -> Shape:
        result = Shape(whole)
        result[axis] = StaticDim(sum(last - first for first, last in ranges(size_of(whole), i)))
        return result

    return ShardingStrategy(num_devices, shard, shape, kind)
