# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a manager tells about itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kvern.driver import Buffer
from kvern.errors import InputError
from kvern.kv_cache._plan import CacheMemoryPlan
from kvern.kv_cache._replica import Replica
from kvern.kv_cache._tables import StepInputs
from kvern.nn.kv_cache import KVCacheMetrics, KVCacheParamInterface

__all__ = ["CacheState"]


class CacheState:
    """What a manager tells about itself."""

    _params: KVCacheParamInterface
    _plan: CacheMemoryPlan
    _pages: Sequence[Any]
    _replicas: Sequence[Replica]
    _inputs: StepInputs

    @property
    def params(self) -> KVCacheParamInterface:
        """The cache."""
        return self._params

    @property
    def max_batch_size(self) -> int:
        """Most requests of a replica in a step."""
        return self._inputs.max_batch_size

    @property
    def memory_plan(self) -> CacheMemoryPlan:
        """The memory that was allocated."""
        return self._plan

    @property
    def buffers(self) -> list[Buffer]:
        """All memory: pages, host pages, tables and lengths."""
        pages = [buffer for each in self._pages for buffer in each.all_buffers]
        host = [buffer for replica in self._replicas for buffer in replica.host.buffers]
        return [*pages, *host, *self._inputs.buffers]

    @property
    def pages(self) -> Sequence[Any]:
        """The pages of each replica: a `KVCacheBuffer`, or a `MultiKVCacheBuffer` of a tree."""
        return self._pages

    def get_num_pages(self, replica_idx: int = 0) -> int:
        """Returns how many pages there are.

        Args:
            replica_idx: Which replica.
        """
        return self._replica(replica_idx).pool.num_pages

    def get_num_used_pages(self, replica_idx: int = 0) -> int:
        """Returns how many pages requests use.

        Args:
            replica_idx: Which replica.
        """
        pool = self._replica(replica_idx).pool
        return pool.num_pages - pool.num_available

    def get_num_free_pages(self, replica_idx: int = 0) -> int:
        """Returns how many pages are free, or kept for their contents only.

        Args:
            replica_idx: Which replica.
        """
        return self._replica(replica_idx).pool.num_available

    def get_num_host_pages(self, replica_idx: int = 0) -> int:
        """Returns how many pages of the host there are.

        Args:
            replica_idx: Which replica.
        """
        return self._replica(replica_idx).host.num_pages

    def get_num_used_host_pages(self, replica_idx: int = 0) -> int:
        """Returns how many pages of the host hold something.

        Args:
            replica_idx: Which replica.
        """
        return self._replica(replica_idx).host.num_used

    def get_req_blocks(self, request_id: Hashable, replica_idx: int = 0) -> list[int]:
        """Returns the pages of a request in order, without those before the window.

        Args:
            request_id: Name of the request.
            replica_idx: Which replica it belongs to.

        Raises:
            KVCacheError: The request is not claimed.
        """
        return self._replica(replica_idx).sequence(request_id).held

    @property
    def metrics(self) -> KVCacheMetrics:
        """Counts since the start or the last `reset_metrics`, of all replicas."""
        return sum((replica.metrics for replica in self._replicas), KVCacheMetrics())

    def reset_metrics(self) -> None:
        """Sets all counts to 0."""
        for replica in self._replicas:
            replica.metrics.__init__()

    def _replica(self, replica_idx: int) -> Replica:
        if not 0 <= replica_idx < len(self._replicas):
            raise InputError(
                f"expected replica_idx from 0 to {len(self._replicas) - 1}, but got {replica_idx}"
            )
        return self._replicas[replica_idx]
