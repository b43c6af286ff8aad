# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph takes for a cache: types when it is declared, values while it is built, Buffers when it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import InputError, InputTypeError
from kvern.graph import BufferValue, TensorValue, Value, ops

if TYPE_CHECKING:
    from kvern.graph.ops.kv_cache import PagedCacheValue

__all__ = [
    "KVCacheInputs",
    "KVCacheInputsPerDevice",
    "MultiKVCacheInputs",
    "PagedCacheValues",
    "build_max_lengths_tensors",
    "unflatten_ragged_attention_inputs",
]

_Tensor = TypeVar("_Tensor")
_Buffer = TypeVar("_Buffer")


@dataclass
class KVCacheInputsPerDevice(Generic[_Tensor, _Buffer]):
    """The inputs of a cache on one device; B sequences.

    Attributes:
        kv_blocks: The pages, `[num_pages, 2 (1 of latent rows), layers, page, heads, head_dim]`; changed in place.
        cache_lengths: uint32 `[B]`: tokens in the cache before this step.
        lookup_table: uint32 `[B, max_pages]`: where page `j` of a sequence is; past its length, anything.
        max_prompt_length: uint32 `[1]` on the CPU: most new tokens of a sequence.
        max_cache_length: uint32 `[1]` on the CPU: most tokens of a sequence, the new ones included.
        kv_scales: The scales of a quantized cache, `[num_pages, 2 | 1, layers, page, heads, groups]`.
        attention_dispatch_metadata: How decode kernels are split; no kernel of kvern takes it.
        draft_attention_dispatch_metadata: The same for a draft.
        mla_num_partitions: Parts of a split latent decode; no kernel of kvern takes it.
        draft_mla_num_partitions: The same for a draft.
        kv_blocks_per_layer: Pages by layer; no kernel of kvern takes them.
    """

    kv_blocks: _Buffer
    cache_lengths: _Tensor
    lookup_table: _Tensor
    max_prompt_length: _Tensor
    max_cache_length: _Tensor
    kv_scales: _Buffer | None = None
    attention_dispatch_metadata: _Tensor | None = None
    draft_attention_dispatch_metadata: _Tensor | None = None
    mla_num_partitions: _Tensor | None = None
    draft_mla_num_partitions: _Tensor | None = None
    kv_blocks_per_layer: list[_Buffer] | None = None

    def flatten(self) -> list[Any]:
        """Returns what is not None, in the order of the fields."""
        leaves: list[Any] = []
        for name in _FIELDS:
            value = getattr(self, name)
            if isinstance(value, list):
                leaves.extend(value)
            elif value is not None:
                leaves.append(value)
        return leaves

    def unflatten(self, it: Iterator[Any]) -> PagedCacheValues:
        """Returns the same structure of as many values from an iterator.

        Args:
            it: Values of a graph, such as `iter(graph.inputs)`; no more are taken than there are leaves.

        Raises:
            ValueError: The iterator ends too early.
            TypeError: A value is a tensor where a buffer belongs, or the other way round.
        """
        made: dict[str, Any] = {}
        for name in _FIELDS:
            mine = getattr(self, name)
            if isinstance(mine, list):
                made[name] = [_take(it, name) for _ in mine]
            else:
                made[name] = None if mine is None else _take(it, name)
        return KVCacheInputsPerDevice(**made)

    def as_value(self) -> PagedCacheValue:
        """Returns the cache as one value, for the ops that take it; stages `ops.paged_cache`.

        Raises:
            ValueError: The shapes or types do not fit together, or the cache has an input that no kernel takes.
        """
        for name in _FIELDS[6:]:
            if getattr(self, name) is not None:
                raise InputError(f"PagedCacheValues: expected {name}=None, for no kernel takes it")
        return ops.paged_cache(  # type: ignore[attr-defined]
            self.kv_blocks,  # type: ignore[arg-type]
            self.cache_lengths,
            self.lookup_table,
            self.max_prompt_length,
            self.max_cache_length,
            self.kv_scales,  # type: ignore[arg-type]
        )

    def __tree_flatten__(self) -> tuple[Sequence[Any], Any]:
        return [getattr(self, name) for name in _FIELDS], None

    @classmethod
    def __tree_unflatten__(
        cls, metadata: Any, children: Sequence[Any]
    ) -> KVCacheInputsPerDevice[Any, Any]:
        return cls(*children)


_FIELDS = tuple(field.name for field in fields(KVCacheInputsPerDevice))
_BUFFERS = {"kv_blocks", "kv_scales", "kv_blocks_per_layer"}

PagedCacheValues = KVCacheInputsPerDevice[TensorValue, BufferValue]


def _take(it: Iterator[Any], name: str) -> Any:
    value = next(it, None)
    if value is None:
        raise InputError(f"expected a value for {name}, but there are no more")
    if not isinstance(value, Value):
        raise InputTypeError(f"expected a value of a graph for {name}, but got {value!r}")
    return value.buffer if name in _BUFFERS else value.tensor


@dataclass
class KVCacheInputs(Generic[_Tensor, _Buffer]):
    """The inputs of one cache on all its devices.

    Attributes:
        inputs: Those of each device, replica by replica.
    """

    inputs: Sequence[KVCacheInputsPerDevice[_Tensor, _Buffer]]

    def flatten(self) -> list[Any]:
        """Returns the leaves: device by device, in the order of the fields, without None."""
        return [leaf for each in self.inputs for leaf in each.flatten()]

    def unflatten(self, it: Iterator[Any]) -> KVCacheInputs[TensorValue, BufferValue]:
        """Returns the same structure of values from an iterator, which gives its own leaves and no more.

        Args:
            it: Values of a graph; several trees may share one iterator.

        Raises:
            ValueError: The iterator ends too early.
            TypeError: A value is a tensor where a buffer belongs, or the other way round.
        """
        return KVCacheInputs([each.unflatten(it) for each in self.inputs])

    def __tree_flatten__(self) -> tuple[Sequence[Any], Any]:
        return list(self.inputs), None

    @classmethod
    def __tree_unflatten__(cls, metadata: Any, children: Sequence[Any]) -> KVCacheInputs[Any, Any]:
        return cls(children)


@dataclass
class MultiKVCacheInputs(Generic[_Tensor, _Buffer]):
    """The inputs of a tree of caches.

    Attributes:
        children: Those of each cache, in order.
    """

    children: Sequence[KVCacheInputs[_Tensor, _Buffer] | MultiKVCacheInputs[_Tensor, _Buffer]]

    def flatten(self) -> list[Any]:
        """Returns the leaves of the children in order."""
        return [leaf for child in self.children for leaf in child.flatten()]

    def unflatten(self, it: Iterator[Any]) -> MultiKVCacheInputs[TensorValue, BufferValue]:
        """Returns the same structure of values from an iterator, which gives its own leaves and no more.

        Args:
            it: Values of a graph.

        Raises:
            ValueError: The iterator ends too early.
            TypeError: A value is a tensor where a buffer belongs, or the other way round.
        """
        return MultiKVCacheInputs([child.unflatten(it) for child in self.children])

    def __tree_flatten__(self) -> tuple[Sequence[Any], Any]:
        return list(self.children), None

    @classmethod
    def __tree_unflatten__(
        cls, metadata: Any, children: Sequence[Any]
    ) -> MultiKVCacheInputs[Any, Any]:
        return cls(children)


def unflatten_ragged_attention_inputs(
    kv_inputs_flat: Sequence[Value[Any]], *, n_devices: int
) -> list[PagedCacheValues]:
    """Makes the caches of a graph's inputs.

    Args:
        kv_inputs_flat: The values, as `KVCacheInputs.flatten` orders them; each device has as many.
        n_devices: Number of devices.

    Raises:
        ValueError: The values do not come out even, or are not those of a cache.
        TypeError: A value is a tensor where a buffer belongs, or the other way round.
    """
    count, rest = divmod(len(kv_inputs_flat), n_devices) if n_devices > 0 else (0, 1)
    if rest or count not in (5, 6, 7):
        raise InputError(
            "expected 5 values for each device (kv_blocks, cache_lengths, lookup_table, max_prompt_length, "
            "max_cache_length), then kv_scales and attention_dispatch_metadata where there are, but got "
            f"{len(kv_inputs_flat)} values for {n_devices} devices"
        )
    made = []
    for device in range(n_devices):
        mine = kv_inputs_flat[device * count : (device + 1) * count]
        has_scales = count > 5 and isinstance(mine[5], BufferValue)
        names = [
            *_FIELDS[:5],
            *(["kv_scales"] if has_scales else []),
            "attention_dispatch_metadata",
        ]
        if count > len(names):
            raise InputError(f"expected kv_scales to be a buffer, but got {mine[5]!r}")
        it = iter(mine)
        made.append(KVCacheInputsPerDevice(**{name: _take(it, name) for name in names[:count]}))
    return made


def build_max_lengths_tensors(
    max_prompt_length: int, max_cache_length: int
) -> tuple[Buffer, Buffer]:
    """Returns the two lengths as Buffers, each uint32 `[1]` on the CPU.

    Args:
        max_prompt_length: Most new tokens of a sequence in this step.
        max_cache_length: Most tokens of a sequence, the new ones included.

    Raises:
        ValueError: A length is below 0.
    """
    made = []
    for name, length in (
        ("max_prompt_length", max_prompt_length),
        ("max_cache_length", max_cache_length),
    ):
        if not 0 <= length < 2**32:
            raise InputError(f"expected {name} to be at least 0 and below 2**32, but got {length}")
        buffer = Buffer(DType.uint32, [1])
        buffer.to_numpy()[0] = length
        made.append(buffer)
    return made[0], made[1]
