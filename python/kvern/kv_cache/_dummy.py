# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for a manager where models are compiled and never run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NoReturn

from kvern.errors import KVCacheError
from kvern.kv_cache._context import CacheContext
from kvern.nn.kv_cache import KVCacheParamInterface

__all__ = ["DummyKVCache"]


class DummyKVCache:
    """A manager without memory, for programs that compile and never run: it knows its requests and gives no pages.

    Attributes:
        params: The cache.
    """

    def __init__(self, params: KVCacheParamInterface) -> None:
        """Makes a stand-in.

        Args:
            params: The cache.
        """
        self.params = params
        self._requests: set[Hashable] = set()

    def claim(self, request_id: Hashable, replica_idx: int = 0) -> None:
        """Adds a request.

        Args:
            request_id: Name of the request.
            replica_idx: Not used.

        Raises:
            KVCacheError: The request is claimed already.
        """
        if request_id in self._requests:
            raise KVCacheError(f"request {request_id!r}: expected a new request, but it is claimed")
        self._requests.add(request_id)

    def release(self, request_id: Hashable, replica_idx: int = 0) -> None:
        """Removes a request.

        Args:
            request_id: Name of the request.
            replica_idx: Not used.

        Raises:
            KVCacheError: The request is not claimed.
        """
        if request_id not in self._requests:
            raise KVCacheError(f"request {request_id!r}: expected a claimed request")
        self._requests.remove(request_id)

    def contains(self, request_id: Hashable, replica_idx: int = 0) -> bool:
        """Whether a request is claimed.

        Args:
            request_id: Name of the request.
            replica_idx: Not used.
        """
        return request_id in self._requests

    def alloc(self, ctx: CacheContext, replica_idx: int = 0) -> NoReturn:
        """Refused: there are no pages.

        Args:
            ctx: The request.
            replica_idx: Not used.

        Raises:
            KVCacheError: Always.
        """
        raise KVCacheError(
            f"request {ctx.request_id!r}: a DummyKVCache has no pages; run with a PagedKVCacheManager"
        )

    def runtime_inputs(self, batches: Sequence[Sequence[CacheContext]]) -> NoReturn:
        """Refused: there are no pages.

        Args:
            batches: The requests of each replica.

        Raises:
            KVCacheError: Always.
        """
        raise KVCacheError("a DummyKVCache has no pages; run with a PagedKVCacheManager")
