# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one cache and a tree of caches have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from kvern.graph import DeviceRef
from kvern.nn.kv_cache._options import KVConnectorType

__all__ = ["DerivedCounts", "KVCacheParamInterface"]


class DerivedCounts:
    """Counts that follow from the parameters of one cache and of a tree of caches alike."""

    devices: Sequence[DeviceRef]
    data_parallel_degree: int
    speculative_method: str | None
    num_draft_tokens: int

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @property
    def tensor_parallel_degree(self) -> int:
        """Devices of a replica."""
        return self.n_devices // self.data_parallel_degree

    @property
    def num_eagle_speculative_tokens(self) -> int:
        """Draft tokens of the method "eagle"."""
        return self.num_draft_tokens if self.speculative_method == "eagle" else 0


@runtime_checkable
class KVCacheParamInterface(Protocol):
    """What one cache and a tree of caches have in common."""

    @property
    def page_size(self) -> int:
        """Tokens of a page."""
        ...

    @property
    def data_parallel_degree(self) -> int:
        """Replicas, each with pages of its own."""
        ...

    @property
    def devices(self) -> Sequence[DeviceRef]:
        """All devices, replica by replica."""
        ...

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        ...

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a page: all layers, on all devices of a replica."""
        ...

    @property
    def kv_connector(self) -> KVConnectorType | None:
        """Where pages go that leave the device's memory."""
        ...

    @property
    def host_kvcache_swap_space_gb(self) -> float | None:
        """GiB of host memory for `KVConnectorType.local`."""
        ...

    @property
    def enable_prefix_caching(self) -> bool:
        """Whether full pages are kept for requests that begin alike."""
        ...

    @property
    def enable_dp_cross_replica_prefix_copy(self) -> bool:
        """Whether a replica may copy such pages from another one."""
        ...

    @property
    def kv_hash_algo(self) -> str:
        """How pages are named."""
        ...

    @property
    def kv_hash_seed(self) -> int | None:
        """Mixed into the names of pages."""
        ...

    @property
    def num_eagle_speculative_tokens(self) -> int:
        """Draft tokens of the method "eagle"."""
        ...

    def get_symbolic_inputs(self, prefix: str = "") -> Any:
        """Returns the types of a graph's inputs, with `prefix` before the names of dims."""
        ...

    def allocate_buffers(self, total_num_pages: int) -> Sequence[Any]:
        """Returns the memory of the pages, one object for each replica."""
        ...

    def build_runtime_inputs(self, assignments: Sequence[Any], buffers: Sequence[Any]) -> Any:
        """Returns the inputs of a run, of each replica's assignment and memory."""
        ...
