# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several caches with one table of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvern.driver import Buffer
from kvern.errors import InputError
from kvern.graph import BufferType, DeviceRef, TensorType
from kvern.nn.kv_cache._buffers import MultiKVCacheBuffer
from kvern.nn.kv_cache._building import KVCacheAssignment
from kvern.nn.kv_cache._inputs import MultiKVCacheInputs
from kvern.nn.kv_cache._interface import DerivedCounts, KVCacheParamInterface
from kvern.nn.kv_cache._options import KVConnectorType

__all__ = ["MultiKVCacheParams"]


@dataclass(frozen=True)
class MultiKVCacheParams(DerivedCounts):
    """Parameters of a tree of caches (of a target and its draft, say) whose pages are given out together.

    Attributes:
        children: The caches; trees too.
        page_size: Tokens of a page, of every child.
        data_parallel_degree: Replicas, of every child.
        devices: All devices, of every child.
        kv_connector: Where pages go that leave the device's memory.
        host_kvcache_swap_space_gb: GiB of host memory for `KVConnectorType.local`.
        speculative_method: "eagle", "mtp" or "dflash"; None for none.
        num_draft_tokens: Tokens that a draft proposes.
    """

    children: Sequence[KVCacheParamInterface]
    page_size: int
    data_parallel_degree: int
    devices: Sequence[DeviceRef]
    kv_connector: KVConnectorType | None
    host_kvcache_swap_space_gb: float | None
    speculative_method: str | None = None
    num_draft_tokens: int = 0

    def __post_init__(self) -> None:
        if not self.children:
            raise InputError("MultiKVCacheParams: expected at least one child, but got none")
        object.__setattr__(self, "children", tuple(self.children))
        object.__setattr__(self, "devices", tuple(map(DeviceRef.from_device, self.devices)))
        for field in ("page_size", "data_parallel_degree", "devices"):
            mine = getattr(self, field)
            for index, child in enumerate(self.children):
                if (theirs := getattr(child, field)) != mine:
                    raise InputError(
                        f"MultiKVCacheParams: expected {field} of child {index} to be {mine}, but got {theirs}"
                    )

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a page: of all children, on all devices of a replica."""
        return sum(child.bytes_per_block for child in self.children)

    @property
    def enable_prefix_caching(self) -> bool:
        """Whether all children keep full pages for requests that begin alike."""
        return all(child.enable_prefix_caching for child in self.children)

    @property
    def enable_dp_cross_replica_prefix_copy(self) -> bool:
        """Whether a replica may copy such pages from another one, of all children."""
        return all(child.enable_dp_cross_replica_prefix_copy for child in self.children)

    @property
    def kv_hash_algo(self) -> str:
        """How pages are named: as those of the first child."""
        return self.children[0].kv_hash_algo

    @property
    def kv_hash_seed(self) -> int | None:
        """Mixed into the names of pages: the first child's."""
        return self.children[0].kv_hash_seed

    def get_symbolic_inputs(self, prefix: str = "") -> MultiKVCacheInputs[TensorType, BufferType]:
        """Returns the types of the inputs of all children.

        Args:
            prefix: Put before the names of the dims that count pages, then the number of the child.
        """
        made: list[Any] = [
            child.get_symbolic_inputs(f"{prefix}cache_{index}_")
            for index, child in enumerate(self.children)
        ]
        return MultiKVCacheInputs(made)

    def allocate_buffers(self, total_num_pages: int) -> list[MultiKVCacheBuffer]:
        """Returns the memory of the pages of all children, one object for each replica.

        Args:
            total_num_pages: Pages of each child and replica.

        Raises:
            ValueError: See `KVCacheParams.allocate_buffers`.
        """
        made = [child.allocate_buffers(total_num_pages) for child in self.children]
        return [MultiKVCacheBuffer(replica) for replica in zip(*made, strict=True)]

    def build_runtime_inputs(
        self, assignments: Sequence[KVCacheAssignment], buffers: Sequence[MultiKVCacheBuffer]
    ) -> MultiKVCacheInputs[Buffer, Buffer]:
        """Returns the inputs of a run: the pages of each child, by the same table.

        Args:
            assignments: The sequences of each replica.
            buffers: The memory of each replica.

        Raises:
            ValueError: There are not as many as replicas.
        """
        made = [
            child.build_runtime_inputs(assignments, [buffer.children[index] for buffer in buffers])
            for index, child in enumerate(self.children)
        ]
        return MultiKVCacheInputs(made)
