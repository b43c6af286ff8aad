# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step of a request needs, before anything is changed.

    begin = processed + page * (hits)           the prefix cache has the rest
    end   = min(tokens, begin + active)
    pages = [kept | hits | kept | new]          the kept ones that are written and shared are replaced by copies

Pages that a request has beyond `end`, from a step that was planned larger, stay its own.

A page on the device that nobody uses is pinned by a hit, and so is not there to be evicted for the other pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvern.errors import KVCacheError
from kvern.kv_cache._context import CacheContext
from kvern.kv_cache._pool import PagePool
from kvern.kv_cache._prefix import PageNode, PrefixIndex
from kvern.kv_cache._sequence import PageSequence

__all__ = ["Hit", "Reservation", "find_chain", "page_tokens", "plan_reservation"]


@dataclass
class Hit:
    """A page of the prefix cache.

    Attributes:
        tokens: Its tokens, as bytes.
        node: Its node here; None when only another replica has the page.
        peer: The pool of the other replica; None when the page is on this one's device or host.
        peer_page: Where the page is in `peer`.
    """

    tokens: bytes
    node: PageNode | None
    peer: PagePool | None = None
    peer_page: int = 0

    @property
    def is_resident(self) -> bool:
        """Whether the page is on the device."""
        return self.node is not None and self.node.page is not None


@dataclass
class Reservation:
    """What a step of a request needs.

    Attributes:
        begin: The first token to compute.
        end: Where the tokens of the step end.
        first: Index of the first hit; the hits take the place of the request's own pages.
        hits: Pages of the prefix cache.
        copies: Indices of the kept pages that are written though others see them.
        new: Pages to take besides.
        needed: All pages to take.
        available: Pages that can be taken.
        pinned: Evictable pages that are hits themselves.
    """

    begin: int
    end: int
    first: int
    hits: list[Hit]
    copies: list[int]
    new: int
    needed: int
    available: int
    pinned: int


def page_tokens(tokens: npt.NDArray[np.int64], page: int, page_size: int) -> bytes:
    """Returns the tokens of a page, as bytes."""
    return tokens[page * page_size : (page + 1) * page_size].tobytes()


def plan_reservation(
    context: CacheContext,
    sequence: PageSequence,
    pool: PagePool,
    find_hits: Callable[[CacheContext, PageSequence], list[Hit]] | None,
    page_size: int,
    window: int | None,
) -> Reservation:
    """Returns what the step of a request needs.

    Args:
        context: The request.
        sequence: Its pages.
        pool: The pages of the replica.
        find_hits: Finds pages of the prefix cache; None without one.
        page_size: Tokens of a page.
        window: Tokens that attention sees, the token itself included; None for all.

    Raises:
        KVCacheError: The context says what cannot be.
    """
    _check_context(context, sequence)
    start, count = context.processed_length, len(context.tokens)
    hits = find_hits(context, sequence) if find_hits is not None else []
    begin = start + page_size * len(hits)
    end = min(count, begin + context.active_length)
    first = 0 if window is None else max(0, begin - window + 1) // page_size
    if first < sequence.dropped:
        raise KVCacheError(
            f"request {context.request_id!r}: expected processed_length to stay within the window, whose first pages "
            f"are given back up to token {sequence.dropped * page_size}, but got {start}"
        )
    pages, begin_page, end_page = sequence.pages, begin // page_size, -(-end // page_size)
    copies = [
        index
        for index in range(begin_page, min(end_page, len(pages)))
        if pool.users[pages[index]] > 1 or pool.nodes[pages[index]] is not None
    ]
    new = max(0, end_page - max(begin_page, len(pages)))
    first_hit = begin_page - len(hits)
    replaced = pages[first_hit:begin_page]
    returned = sum(pool.users[page] == 1 and pool.nodes[page] is None for page in replaced)
    pinned = sum(hit.is_resident and not pool.users[hit.node.page] for hit in hits)  # type: ignore
    return Reservation(
        begin=begin,
        end=end,
        first=first_hit,
        hits=hits,
        copies=copies,
        new=new,
        needed=new + len(copies) + sum(not hit.is_resident for hit in hits),
        available=pool.num_available + returned - pinned,
        pinned=pinned,
    )


def _check_context(context: CacheContext, sequence: PageSequence) -> None:
    start, count, active = context.processed_length, len(context.tokens), context.active_length
    name = f"request {context.request_id!r}"
    if context.max_length is not None and count > context.max_length:
        raise KVCacheError(
            f"{name}: expected at most max_length ({context.max_length}) tokens, but got {count}"
        )
    if active < 1 or start + active > count:
        raise KVCacheError(
            f"{name}: expected at least one token to compute of the {count - start} left, but got {active}"
        )
    if start > sequence.reserved:
        raise KVCacheError(
            f"{name}: expected processed_length to be at most the {sequence.reserved} tokens that have pages, but got "
            f"{start}"
        )


def find_chain(
    index: PrefixIndex, tokens: npt.NDArray[np.int64], page_size: int, limit: int
) -> Sequence[PageNode]:
    """Returns the nodes of the first pages of tokens, `limit` at most."""
    nodes: list[PageNode] = []
    node = index.root
    for page in range(limit):
        found = index.find(node, page_tokens(tokens, page, page_size))
        if found is None:
            break
        nodes.append(found)
        node = found
    return nodes
