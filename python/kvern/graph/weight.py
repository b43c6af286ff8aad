# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Named tensors whose data comes when the model is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kvern.dtype import DType
from kvern.errors import GraphError, ShapeError
from kvern.graph._source import located
from kvern.graph.device import DeviceRef
from kvern.graph.dim import StaticDim
from kvern.graph.shape import Shape, ShapeLike
from kvern.graph.sharding import ShardingStrategy
from kvern.graph.type import TensorType
from kvern.graph.value import TensorValue

if TYPE_CHECKING:
    from kvern.graph.graph import Graph
    from kvern.graph.quantization import QuantizationEncoding

__all__ = ["Weight"]


class Weight(TensorValue):
    """A tensor that a graph names and does not hold; its data is bound at load time.

    A weight is made outside of graphs and used like any tensor; the first use in a graph adds it there.
    `align`, `dtype`, `quantization_encoding` and `shape` may be changed until then.

    Attributes:
        name: Key in the weights registry.
        align: Alignment of the data in bytes; None for that of the element type.
        quantization_encoding: How the bytes of a quantized weight are to be read.
        shard_idx: Which shard this is; None for a whole weight.
    """

    def __init__(
        self,
        name: str,
        dtype: DType,
        shape: ShapeLike,
        device: DeviceRef,
        quantization_encoding: QuantizationEncoding | None = None,
        align: int | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        *,
        _placeholder: bool = False,
    ) -> None:
        """Declares a weight; see the attributes.

        With the encoding of a GGUF file and an element type other than uint8, `dtype` and `shape` are those of the
        numbers, and the weight is stored as uint8, with the bytes of blocks along the last axis.

        Raises:
            TypeError: `dtype` is no DType, or `shape` no list of dims.
            ValueError: A size is below 0, or the last one no multiple of an encoding's block.
        """
        if not isinstance(name, str) or not name:
            raise located(
                GraphError, "Weight", f"expected a name that is not empty, but got {name!r}"
            )
        declared = TensorType(dtype, shape, device)
        stored = declared
        if dtype is not DType.uint8 and getattr(quantization_encoding, "is_gguf", False):
            stored = _stored(declared, quantization_encoding)
        self.name = name
        self._dtype, self._shape, self._device = stored.dtype, stored.shape, stored.device
        self.quantization_encoding = quantization_encoding
        self.align = align
        self.sharding_strategy = sharding_strategy
        self.shard_idx: int | None = None
        self._placeholder = _placeholder
        self._logical = (dtype, declared.shape)

    @property
    def type(self) -> TensorType:
        """The type."""
        return TensorType(self.dtype, self.shape, self.device)

    @property
    def dtype(self) -> DType:
        """The element type of the stored data."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DType) -> None:
        self._dtype = dtype

    @property
    def shape(self) -> Shape:
        """The sizes; on a shard, its own."""
        return self._shape

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self._shape = Shape(shape)

    @property
    def device(self) -> DeviceRef:
        """Where the weight lives."""
        return self._device

    @property
    def original_dtype_and_shape(self) -> tuple[DType, Shape]:
        """Element type and sizes as declared, before an encoding made bytes of them."""
        return self._logical

    def shard(self, devices: Iterable[DeviceRef]) -> list[Weight]:
        """Returns one part of the weight for each device, by its sharding strategy.

        Raises:
            ValueError: There is no strategy, it is for another number of devices, or this is a shard.
        """
        places = list(devices)
        strategy = self.sharding_strategy
        if self.shard_idx is not None or strategy is None:
            what = "a shard" if strategy is not None else "a weight without one"
            raise located(
                GraphError,
                "Weight.shard",
                f"expected a whole weight with a sharding strategy, but got {what}",
            )
        if len(places) != strategy.num_devices:
            raise located(
                GraphError,
                "Weight.shard",
                f"expected {strategy.num_devices} devices, as in the strategy, but got {len(places)}",
            )
        return [_Shard(self, strategy, i, place) for i, place in enumerate(places)]

    def _in_graph(self, graph: Graph, op: str) -> Any:
        return graph.add_weight(self)._in_graph(graph, op)

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"Weight({self.name!r}, {self.dtype.name}, [{dims}], {self.device})"


def _stored(declared: TensorType, encoding: Any) -> TensorType:
    """The bytes of quantized numbers."""
    count = encoding.elements_per_block
    sizes = list(declared.shape)
    if not sizes or not isinstance(sizes[-1], StaticDim) or int(sizes[-1]) % count:
        raise located(
            ShapeError,
            "Weight",
            f"expected a last size divisible by the {count} elements of a block of {encoding.value}, "
            f"but got [{', '.join(map(str, sizes))}]",
        )
    bytes_ = int(sizes[-1]) // count * encoding.block_size
    return TensorType(DType.uint8, [*sizes[:-1], bytes_], declared.device)


class _Shard(Weight):
    """A part of a weight, cut out where it is used."""

    def __init__(
        self, whole: Weight, strategy: ShardingStrategy, index: int, device: DeviceRef
    ) -> None:
        super().__init__(whole.name, whole.dtype, whole.shape, device, whole.quantization_encoding)
        self.sharding_strategy = strategy
        self.shard_idx = index
        self._whole = whole
        self._parts: dict[int, TensorValue] = {}

    def _part(self) -> TensorValue:
        """The part, staged into the current graph."""
        from kvern.graph.graph import Graph

        assert self.sharding_strategy is not None and self.shard_idx is not None
        graph = Graph._current_for("Weight.shard")
        known = self._parts.get(id(graph))
        if known is None or known._graph is not graph:
            known = self.sharding_strategy.shard(self._whole, self.shard_idx).to(self.device)
            self._parts[id(graph)] = known
        return known

    @property
    def shape(self) -> Shape:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The sizes of the part."""
        strategy = self.sharding_strategy
        if strategy is None or self.shard_idx is None:
            return self._whole.shape if hasattr(self, "_whole") else self._shape
        if strategy.shape is not None:
            return strategy.shape(self._whole.shape, self.shard_idx)
        return self._part().shape

    def _in_graph(self, graph: Graph, op: str) -> Any:
        return self._part()._in_graph(graph, op)
