# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of one replica and the requests that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from kvern.errors import InsufficientBlocksError, KVCacheError
from kvern.kv_cache._context import CacheContext
from kvern.kv_cache._pool import HostPool, PagePool
from kvern.kv_cache._prefix import PageNode, PrefixIndex
from kvern.kv_cache._reservation import (
    Hit,
    Reservation,
    find_chain,
    page_tokens,
    plan_reservation,
)
from kvern.kv_cache._sequence import PageSequence
from kvern.nn.kv_cache import KVCacheMemory, KVCacheMetrics, KVCacheParamInterface

__all__ = ["Replica"]


class Replica:
    """The pages of one replica and the requests that have them."""

    def __init__(
        self,
        params: KVCacheParamInterface,
        memory: list[KVCacheMemory],
        num_pages: int,
        num_host_pages: int,
        window: int | None,
    ) -> None:
        self.page_size = params.page_size
        self.window = window
        self.metrics = KVCacheMetrics()
        self.index = PrefixIndex(params)
        self.host = HostPool(memory, num_host_pages, self.index, self.metrics)
        self.pool = PagePool(memory, num_pages, self.index, self.host)
        self.sequences: dict[Hashable, PageSequence] = {}
        self.is_caching = params.enable_prefix_caching
        # Replicas that pages may be copied from.
        self.peers: Sequence[Replica] = ()

    def sequence(self, request_id: Hashable) -> PageSequence:
        """Returns the pages of a request."""
        try:
            return self.sequences[request_id]
        except KeyError:
            raise KVCacheError(
                f"request {request_id!r}: expected a claimed request, but it was never claimed or is released"
            ) from None

    def claim(self, request_id: Hashable) -> None:
        """Adds a request without pages."""
        sequence = PageSequence(request_id, self.index.root, self.is_caching)
        self.index.hold(sequence.tip)
        self.sequences[request_id] = sequence

    def fork(self, request_id: Hashable, new_request_id: Hashable) -> None:
        """Adds a request with the pages of another one."""
        parent = self.sequence(request_id)
        made = PageSequence(new_request_id, parent.tip, parent.can_name)
        self.index.hold(made.tip)
        made.pages = list(parent.pages)
        made.dropped, made.reserved, made.named = parent.dropped, parent.reserved, parent.named
        for page in made.held:
            self.pool.acquire(page)
        self.sequences[new_request_id] = made

    def release(self, request_id: Hashable) -> None:
        """Removes a request; its last pages will be evicted first."""
        sequence = self.sequence(request_id)
        for page in reversed(sequence.held):
            self.pool.release(page)
        self.index.drop(sequence.tip)
        del self.sequences[request_id]

    # --- Before a step ----------------------------------------------------------------------------------------

    def alloc(self, context: CacheContext) -> None:
        """Gives a request the pages of its step, or raises and changes nothing."""
        sequence, pool = self.sequence(context.request_id), self.pool
        find_hits = self._find_hits if sequence.can_name else None
        plan = plan_reservation(context, sequence, pool, find_hits, self.page_size, self.window)
        if plan.needed > plan.available:
            raise InsufficientBlocksError(self._explain(sequence, plan))
        if plan.needed or plan.hits:
            self._take(sequence, plan)
            sequence.version += 1
        self._rewind_names(sequence, plan.begin // self.page_size)
        self.metrics.input_tokens += max(0, plan.end - max(plan.begin, sequence.reserved))
        sequence.reserved = plan.end
        if plan.hits:
            context.processed_length = plan.begin
            self._drop_before_window(sequence, plan.begin)
            self.metrics.cache_tokens += self.page_size * len(plan.hits)

    def _find_hits(self, context: CacheContext, sequence: PageSequence) -> list[Hit]:
        """The pages of the prefix cache that follow those of a request, in order; one token is left to compute."""
        size, tokens = self.page_size, context.tokens
        limit = (len(tokens) - 1) // size
        if context.processed_length != sequence.named * size or sequence.named >= limit:
            return []
        hits: list[Hit] = []
        node, chains = sequence.tip, None
        for page in range(sequence.named, limit):
            wanted = page_tokens(tokens, page, size)
            node = None if node is None else self.index.find(node, wanted)
            if node is not None and (node.page is not None or node.host_page is not None):
                hits.append(Hit(wanted, node))
                continue
            if chains is None:
                chains = [find_chain(p.index, tokens, size, limit) for p in self.peers]
            for peer, chain in zip(self.peers, chains, strict=True):
                if len(chain) > page and (there := chain[page].page) is not None:
                    hits.append(Hit(wanted, node, peer.pool, there))
                    break
            else:
                return hits
        return hits

    def _take(self, sequence: PageSequence, plan: Reservation) -> None:
        """Carries a plan out. Hits are pinned before anything is evicted."""
        pool, last = self.pool, plan.first + len(plan.hits)
        for page in reversed(sequence.pages[plan.first : last]):
            pool.release(page)
        after = sequence.pages[last:]
        del sequence.pages[plan.first :]
        for hit in plan.hits:
            if hit.node is not None:
                self.index.hold(hit.node)
            if hit.is_resident:
                pool.acquire(hit.node.page)  # type: ignore[union-attr,arg-type]
            elif hit.node is not None and hit.node.host_page is not None:
                self.host.pin(hit.node)
        for hit in plan.hits:
            self._take_hit(sequence, hit)
        sequence.pages.extend(after)
        for index in plan.copies:
            old, new = sequence.pages[index], pool.take()
            # Only the first page to write has tokens before.
            if index * self.page_size < plan.begin:
                pool.copy(old, new)
            pool.release(old)
            sequence.pages[index] = new
        sequence.pages.extend(pool.take() for _ in range(plan.new))
        for hit in plan.hits:
            if hit.node is not None:
                self.index.drop(hit.node)

    def _take_hit(self, sequence: PageSequence, hit: Hit) -> None:
        pool, node = self.pool, hit.node
        if not hit.is_resident:
            page = pool.take()
            if hit.peer is not None:
                pool.copy_from(hit.peer, hit.peer_page, page)
                self.metrics.cross_replica_blocks_copied += 1
                if node is None and sequence.can_name:
                    node = self.index.add(sequence.tip, hit.tokens)
            else:
                assert node is not None
                self.host.restore(node, page)
            if node is not None:
                pool.name(page, node)
        else:
            assert node is not None and node.page is not None
            page = node.page
        sequence.pages.append(page)
        if node is None:
            # The name is another page's.
            sequence.can_name = False
        elif sequence.can_name:
            self._move_tip(sequence, node)

    def _move_tip(self, sequence: PageSequence, node: PageNode) -> None:
        self.index.hold(node)
        self.index.drop(sequence.tip)
        sequence.tip = node
        sequence.named += 1

    def _rewind_names(self, sequence: PageSequence, pages: int) -> None:
        """Moves the tip back when pages that have names are written again."""
        if sequence.named <= pages:
            return
        node = sequence.tip
        for _ in range(sequence.named - pages):
            assert node.parent is not None
            node = node.parent
        self.index.hold(node)
        self.index.drop(sequence.tip)
        sequence.tip, sequence.named = node, pages

    # --- After a step -----------------------------------------------------------------------------------------

    def check_step(self, context: CacheContext) -> None:
        """Refuses a context that says what cannot be."""
        sequence, cached = self.sequence(context.request_id), context.processed_length
        if cached > sequence.reserved:
            raise KVCacheError(
                f"request {context.request_id!r}: expected processed_length to be at most the {sequence.reserved} "
                f"tokens that have pages, but got {cached}"
            )

    def step(self, context: CacheContext) -> None:
        """Names the pages that became full, and gives back those before the window."""
        sequence, cached = self.sequence(context.request_id), context.processed_length
        while sequence.can_name and (sequence.named + 1) * self.page_size <= cached:
            self._name_next(sequence, page_tokens(context.tokens, sequence.named, self.page_size))
        self._drop_before_window(sequence, cached)

    def _name_next(self, sequence: PageSequence, tokens: bytes) -> None:
        pool, index = self.pool, sequence.named
        page = sequence.pages[index]
        node = self.index.find(sequence.tip, tokens) or self.index.add(sequence.tip, tokens)
        if node is None or index < sequence.dropped or pool.nodes[page] not in (None, node):
            sequence.can_name = False
            return
        if node.page is None:
            pool.name(page, node)
        elif node.page != page:
            # The same page is there already: this copy goes.
            pool.acquire(node.page)
            pool.release(page)
            sequence.pages[index] = node.page
            sequence.version += 1
        self._move_tip(sequence, node)

    def _drop_before_window(self, sequence: PageSequence, cached: int) -> None:
        if self.window is None:
            return
        first = max(0, cached - self.window + 1) // self.page_size
        for index in range(sequence.dropped, first):
            self.pool.release(sequence.pages[index])
            sequence.pages[index] = 0
        if first > sequence.dropped:
            sequence.dropped = first
            sequence.version += 1

    def reset_prefix_cache(self) -> None:
        """Forgets all names; requests keep their pages, which get no names any more."""
        self.host.clear()
        self.pool.forget_names()
        self.index.clear()
        for sequence in self.sequences.values():
            sequence.can_name = sequence.can_name and not sequence.reserved

    # --- Telling ----------------------------------------------------------------------------------------------

    def _explain(self, sequence: PageSequence, plan: Reservation) -> str:
        pool = self.pool
        terms = {
            "for new tokens": plan.new,
            "to copy shared pages that are written": len(plan.copies),
            "for cached pages of the host or another replica": sum(
                not hit.is_resident for hit in plan.hits
            ),
        }
        needed = ", ".join(f"{count} {what}" for what, count in terms.items() if count)
        held = {s.request_id: len(s.held) for s in self.sequences.values() if s.held}
        users = ", ".join(f"{name!r} {count}" for name, count in Counter(held).most_common(8))
        if len(held) > 8:
            users += f" and {len(held) - 8} more requests"
        in_use = pool.num_pages - pool.num_available
        return (
            f"request {sequence.request_id!r}: tokens {plan.begin} to {plan.end} need {plan.needed} pages ({needed}), "
            f"but {plan.available} of {pool.num_pages} are available: {len(pool.free)} free, {len(pool.evictable)} "
            f"evictable{f' of which the request itself needs {plan.pinned}' if plan.pinned else ''}, {in_use} in use"
            f"{f' ({users})' if users else ''}"
        )

    def check(self) -> None:
        """Checks what must always hold."""
        users = Counter(page for s in self.sequences.values() for page in s.held)
        problems = [*self.pool.problems(users), *self.host.problems()]
        if problems:
            raise KVCacheError(f"the cache is damaged: {'; '.join(problems)}")
