# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives pages of a cache to requests."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kvern.engine import InferenceSession
from kvern.errors import InputError, InputTypeError, KVCacheError
from kvern.kv_cache._context import CacheContext
from kvern.kv_cache._plan import plan_memory, table_columns
from kvern.kv_cache._replica import Replica
from kvern.kv_cache._state import CacheState
from kvern.kv_cache._tables import StepInputs
from kvern.nn.kv_cache import (
    KVCacheParamInterface,
    KVConnectorType,
)

__all__ = ["PagedKVCacheManager"]


class PagedKVCacheManager(CacheState):
    """Gives pages of a cache to requests.

    A request is claimed; then before each step `alloc` gives it pages, `runtime_inputs` are the inputs of the graph,
    and after it `step` keeps what became full; `release` takes the pages back:

        manager.claim(context.request_id)
        while ...:
            manager.alloc(context)
            inputs = manager.runtime_inputs([[context]])
            ...                                 # run the model on context.next_tokens and *inputs.flatten()
            context.update(token)
            manager.step([[context]])
        manager.release(context.request_id)

    With `enable_prefix_caching` a page that is full is kept by its tokens and those before. A request that begins alike
    gets it instead of computing it, also after the page's requests are released, until its place is needed: then the
    page that was unused for longest goes, to the host's memory if there is some. A request that writes into a page that
    others see (after `fork`) gets a copy first.

    All methods either do what they say or raise and change nothing. A manager belongs to one thread.
    """

    def __init__(
        self,
        params: KVCacheParamInterface,
        session: InferenceSession | None,
        total_num_pages: int,
        total_num_host_pages: int = 0,
        enable_runtime_checks: bool = False,
        *,
        max_batch_size: int,
        max_seq_len: int | None = None,
        window: int | None = None,
    ) -> None:
        """Allocates the pages.

        Args:
            params: The cache, or a tree of caches, which get pages together.
            session: Where models run. Copies of pages on the CPU need none: None will do.
            total_num_pages: Pages of each replica.
            total_num_host_pages: Pages of each replica on the host, for pages that are evicted; needs prefix caching.
            enable_runtime_checks: Whether every change is checked.
            max_batch_size: Most requests of a replica in a step.
            max_seq_len: Most tokens of a request; None for any number.
            window: Tokens that attention sees in every layer, the token itself included: pages before are given back.
                None when a layer sees all.

        Raises:
            ValueError: A number is too small, host pages without prefix caching, a device that does not exist, or there
                is no kernel for the devices.
            MemoryError: There is not so much memory.
        """
        if session is not None and not isinstance(session, InferenceSession):
            raise InputTypeError(f"expected an InferenceSession or None, but got {session!r}")
        if window is not None and window < 1:
            raise InputError(f"expected window >= 1, but got {window}")
        self._plan = plan_memory(
            params,
            total_num_pages,
            total_num_host_pages,
            max_batch_size=max_batch_size,
            max_seq_len=max_seq_len,
        )
        if total_num_host_pages and not params.enable_prefix_caching:
            raise InputError(
                f"expected enable_prefix_caching=True with total_num_host_pages={total_num_host_pages}, but got False"
            )
        is_local = params.kv_connector == KVConnectorType.local
        if (is_local and not total_num_host_pages) or (
            params.kv_connector == KVConnectorType.null and total_num_host_pages
        ):
            raise InputError(
                f"expected total_num_host_pages to be {'>= 1' if is_local else '0'} with the connector "
                f"{params.kv_connector!r}, but got {total_num_host_pages}"
            )
        self._params = params
        self._max_seq_len = max_seq_len
        self._checks = enable_runtime_checks
        self._pages = params.allocate_buffers(total_num_pages)
        self._replicas = [
            Replica(params, pages.to_memory(), total_num_pages, total_num_host_pages, window)
            for pages in self._pages
        ]
        if params.enable_prefix_caching and params.enable_dp_cross_replica_prefix_copy:
            for replica in self._replicas:
                replica.peers = [other for other in self._replicas if other is not replica]
        columns = table_columns(params, total_num_pages, max_seq_len)
        self._inputs = StepInputs(params, self._pages, max_batch_size, columns)

    # --- Requests ---------------------------------------------------------------------------------------------

    def claim(self, request_id: Hashable, replica_idx: int = 0) -> None:
        """Adds a request; it has no pages yet.

        Args:
            request_id: Name of the request.
            replica_idx: Which replica it belongs to.

        Raises:
            ValueError: The request is claimed already (a `KVCacheError`), or there is no such replica.
        """
        replica = self._replica(replica_idx)
        self._check_unclaimed(request_id)
        replica.claim(request_id)

    def alloc(self, ctx: CacheContext, replica_idx: int = 0) -> None:
        """Gives a request the pages for its next `active_length` tokens.

        With prefix caching, pages that are known move `ctx.processed_length` on; one token at least is left to compute.

        Args:
            ctx: The request.
            replica_idx: Which replica it belongs to.

        Raises:
            InsufficientBlocksError: There are not enough pages; the message names each term. Nothing is changed.
            KVCacheError: The request is not claimed, has too many tokens or none to compute, or says that more tokens
                are processed than have pages.
        """
        replica = self._replica(replica_idx)
        if self._max_seq_len is not None and len(ctx.tokens) > self._max_seq_len:
            raise KVCacheError(
                f"request {ctx.request_id!r}: expected at most max_seq_len ({self._max_seq_len}) tokens, but got "
                f"{len(ctx.tokens)}"
            )
        replica.alloc(ctx)
        self._check(replica)

    def runtime_inputs(self, batches: Sequence[Sequence[CacheContext]]) -> Any:
        """Returns the inputs of a step: `KVCacheInputs`, or `MultiKVCacheInputs` of a tree, of Buffers.

        The Buffers are the manager's: the next call overwrites them.

        Args:
            batches: The requests of each replica, in the order of their tokens.

        Raises:
            KVCacheError: A request is not claimed or has too few pages, or there are more than `max_batch_size`.
            TypeError: Not a list of requests for each replica.
        """
        return self._inputs.fill(self._batches(batches), self._replicas)

    def step(self, batches: Sequence[Sequence[CacheContext]]) -> None:
        """Goes on after a step and `ctx.update`: keeps pages that became full, gives back those before the window.

        Args:
            batches: The requests of each replica.

        Raises:
            KVCacheError: A request is not claimed, or says that more tokens are processed than have pages.
            TypeError: Not a list of requests for each replica.
        """
        pairs = list(zip(self._batches(batches), self._replicas, strict=True))
        for batch, replica in pairs:
            for context in batch:
                replica.check_step(context)
        for batch, replica in pairs:
            for context in batch:
                replica.step(context)
            self._check(replica)

    def fork(self, request_id: Hashable, new_request_id: Hashable, replica_idx: int = 0) -> None:
        """Adds a request that shares the pages of another one; see `TextContext.fork` for its context.

        Args:
            request_id: Name of the request to share with.
            new_request_id: Name of the new one.
            replica_idx: Which replica they belong to.

        Raises:
            KVCacheError: The first is not claimed, or the second is.
        """
        replica = self._replica(replica_idx)
        self._check_unclaimed(new_request_id)
        replica.fork(request_id, new_request_id)
        self._check(replica)

    def release(self, request_id: Hashable, replica_idx: int = 0) -> None:
        """Removes a request; its pages are free, but those that prefix caching keeps.

        Args:
            request_id: Name of the request.
            replica_idx: Which replica it belongs to.

        Raises:
            KVCacheError: The request is not claimed, or released already.
        """
        replica = self._replica(replica_idx)
        replica.release(request_id)
        self._check(replica)

    def contains(self, request_id: Hashable, replica_idx: int = 0) -> bool:
        """Whether a request is claimed.

        Args:
            request_id: Name of the request.
            replica_idx: Which replica.
        """
        return request_id in self._replica(replica_idx).sequences

    def reset_prefix_cache(self) -> None:
        """Forgets all pages that are kept for their contents. Requests go on with theirs, which are not kept."""
        for replica in self._replicas:
            replica.reset_prefix_cache()
            self._check(replica)

    # --- Checks -----------------------------------------------------------------------------------------------

    def _check_unclaimed(self, request_id: Hashable) -> None:
        for number, replica in enumerate(self._replicas):
            if request_id in replica.sequences:
                raise KVCacheError(
                    f"request {request_id!r}: expected a new request, but replica {number} has it"
                )

    def _batches(
        self, batches: Sequence[Sequence[CacheContext]]
    ) -> Sequence[Sequence[CacheContext]]:
        if not all(isinstance(batch, (list, tuple)) for batch in batches):
            raise InputTypeError(f"expected a list of requests for each replica, but got {batches}")
        if len(batches) != len(self._replicas):
            raise InputTypeError(
                f"expected requests of {len(self._replicas)} replicas, but got {len(batches)}"
            )
        return batches

    def _check(self, replica: Replica) -> None:
        if self._checks:
            replica.check()
