# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which requests take part in the next step, and with how many tokens.

Continuous batching (Yu et al., "Orca", 2022) over a paged cache (Kwon et al., "PagedAttention", 2023): requests join
and leave between any two steps. A step holds at most `max_step_tokens` tokens: first one for each request that decodes,
then parts of prompts (chunked prefill: Agrawal et al., "Sarathi", 2023), so that a long prompt never makes the others
wait. When pages run out, the request that came last gives its own back and starts again later; the one that came first
always goes on, so each ends.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

from kvern.errors import InputError

__all__ = ["Cache", "Scheduled", "Scheduler"]


class Scheduled(Protocol):
    """What is scheduled. `context` is a `kvern.kv_cache.TextContext`: its tokens, and how many are in the cache."""

    context: Any

    def restart(self) -> None:
        """Gives the request a new context with all its tokens, none of them in the cache."""
        ...


class Cache(Protocol):
    """What gives out pages; `kvern.kv_cache.PagedKVCacheManager`."""

    def claim(self, request_id: Any, replica_idx: int = 0) -> None:
        """Registers a request."""
        ...

    def alloc(self, ctx: Any, replica_idx: int = 0) -> None:
        """Gives a request the pages of its active tokens, or raises InsufficientBlocksError and changes nothing."""
        ...

    def release(self, request_id: Any, replica_idx: int = 0) -> None:
        """Takes the pages back."""
        ...


class Scheduler:
    """Holds the requests that wait and those that run. Not thread-safe."""

    def __init__(
        self,
        cache: Cache,
        full: type[Exception],
        *,
        max_batch_size: int,
        max_step_tokens: int,
    ) -> None:
        """Begins without requests.

        Args:
            cache: Gives out pages.
            full: What it raises when there are too few.
            max_batch_size: The most requests of a step.
            max_step_tokens: The most tokens of a step.

        Raises:
            ValueError: A limit is below 1, or a step cannot hold a token of each request.
        """
        if max_batch_size < 1:
            raise InputError(f"expected max_batch_size >= 1, but got {max_batch_size}")
        if max_step_tokens < max_batch_size:
            raise InputError(
                f"expected max_step_tokens to be at least max_batch_size ({max_batch_size}), "
                f"but got {max_step_tokens}"
            )
        self._cache = cache
        self._full = full
        self._max_batch_size = max_batch_size
        self._max_step_tokens = max_step_tokens
        self.waiting: deque[Any] = deque()
        # In the order in which they came.
        self.running: list[Any] = []
        self.num_preemptions = 0
        # Pages ran out and no request has ended since: one that joins would soon have to leave.
        self._is_short = False

    def add(self, request: Scheduled) -> None:
        """Lets a request wait for its turn."""
        self.waiting.append(request)

    def remove(self, request: Scheduled) -> None:
        """Ends a request and gives its pages back; one that is not there is ignored."""
        if request in self.running:
            self._leave(request)
            self._is_short = False
        elif request in self.waiting:
            self.waiting.remove(request)

    def schedule(self) -> list[Any]:
        """Chooses the requests of the next step, gives them pages, and sets their `active_length`.

        Returns:
            The requests, those that decode first; none when there is nothing to do.

        Raises:
            InsufficientBlocksError: A request does not fit although it is alone. It has been removed.
        """
        batch: list[Any] = []
        budget = self._max_step_tokens
        for request in list(self.running):
            # Those that decode, unless an earlier one has taken their pages.
            if request in self.running and _left(request) == 1 and self._make_room(request):
                request.context.active_length = 1
                batch.append(request)
                budget -= 1
        # One that was chosen may have lost its pages to one that came before it.
        batch = [request for request in batch if request in self.running]
        for request in list(self.running):
            if budget > 0 and _left(request) > 1:
                budget -= self._take(request, budget)
                batch.append(request)
        while self.waiting and budget > 0 and len(self.running) < self._max_batch_size:
            if self._is_short and self.running:
                break
            request = self.waiting[0]
            if not self._admit(request):
                break
            budget -= self._take(request, budget)
            batch.append(request)
        return batch

    def _take(self, request: Any, budget: int) -> int:
        """Sets how much of a prompt the step holds; its pages are there already."""
        request.context.active_length = min(_left(request), budget)
        return request.context.active_length

    def _admit(self, request: Any) -> bool:
        """Gives a waiting request the pages of all its tokens, if there are as many."""
        self._cache.claim(request.context.request_id)
        try:
            self._cache.alloc(request.context)
        except BaseException as error:
            self._cache.release(request.context.request_id)
            if isinstance(error, self._full) and self.running:
                return False
            self.waiting.remove(request)
            raise
        self.waiting.popleft()
        self.running.append(request)
        return True

    def _make_room(self, request: Any) -> bool:
        """Gives a request the page of its next token, if need be that of others.

        Returns:
            Whether it has one. If not, it is the one that came last and waits again.
        """
        request.context.active_length = 1
        while True:
            try:
                self._cache.alloc(request.context)
                return True
            except self._full:
                last = self.running[-1]
                if last is request and len(self.running) == 1:
                    self.remove(request)
                    raise
                self._preempt(last)
                if last is request:
                    return False

    def _leave(self, request: Any) -> None:
        self.running.remove(request)
        self._cache.release(request.context.request_id)

    def _preempt(self, request: Any) -> None:
        self._leave(request)
        self._is_short = True
        request.restart()
        # It came before all that wait.
        self.waiting.appendleft(request)
        self.num_preemptions += 1


def _left(request: Any) -> int:
    """Tokens that are not in the cache yet."""
    return len(request.context.tokens) - request.context.processed_length
