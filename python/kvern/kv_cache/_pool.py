# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of a replica: who has them, and which go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.kv_cache._prefix import PageNode, PrefixIndex
from kvern.nn.kv_cache import KVCacheMemory, KVCacheMetrics

__all__ = ["HostPool", "PagePool"]


class HostPool:
    """Pages of the host's memory for pages that leave the device; the least recently used one goes first."""

    def __init__(
        self,
        memory: list[KVCacheMemory],
        num_pages: int,
        index: PrefixIndex,
        metrics: KVCacheMetrics,
    ) -> None:
        self._memory = memory
        self._index = index
        self._metrics = metrics
        self.num_pages = num_pages
        self.buffers = [
            Buffer(DType.uint8, [num_pages, unit.bytes_per_page]) for unit in memory if num_pages
        ]
        self._free = list(range(num_pages))
        self._used: OrderedDict[int, PageNode] = OrderedDict()

    @property
    def num_used(self) -> int:
        """Pages that hold something."""
        return len(self._used)

    def save(self, node: PageNode, page: int) -> None:
        """Copies a page of the device here, unless a copy is here already or every page is pinned."""
        if node.host_page is not None:
            self._used.move_to_end(node.host_page)
            return
        if not self._free:
            if not self._used:
                return
            self._forget(next(iter(self._used)))
        slot = self._free.pop()
        for unit, buffer in zip(self._memory, self.buffers, strict=True):
            unit.read_page(page, buffer[slot])
        self._metrics.d2h_blocks_copied += 1
        node.host_page = slot
        self._used[slot] = node

    def pin(self, node: PageNode) -> None:
        """Keeps a page until `restore`."""
        assert node.host_page is not None
        del self._used[node.host_page]

    def restore(self, node: PageNode, page: int) -> None:
        """Copies a pinned page to the device; the copy here stays."""
        assert node.host_page is not None
        for unit, buffer in zip(self._memory, self.buffers, strict=True):
            unit.write_page(page, buffer[node.host_page])
        self._metrics.h2d_blocks_copied += 1
        self._used[node.host_page] = node

    def clear(self) -> None:
        """Forgets all pages."""
        for slot in list(self._used):
            self._forget(slot)

    def problems(self) -> Iterator[str]:
        """Yields what does not hold though it must."""
        if sorted([*self._free, *self._used]) != list(range(self.num_pages)):
            yield f"host pages are {sorted(self._free)} free and {sorted(self._used)} used"
        saved = {id(n): n.host_page for n in self._index.nodes if n.host_page is not None}
        if saved != {id(node): slot for slot, node in self._used.items()}:
            yield f"host pages {sorted(self._used)} have the names of {sorted(saved.values())}"

    def _forget(self, slot: int) -> None:
        node = self._used.pop(slot)
        node.host_page = None
        self._free.append(slot)
        self._index.prune(node)


class PagePool:
    """Pages of the device. Each is free, or in use by some requests, or kept for its contents and evictable."""

    def __init__(
        self, memory: list[KVCacheMemory], num_pages: int, index: PrefixIndex, host: HostPool
    ) -> None:
        self.memory = memory
        self._index = index
        self._host = host
        self.users = [0] * num_pages
        self.nodes: list[PageNode | None] = [None] * num_pages
        # The lowest pages first: memory that was never touched stays untouched.
        self.free = list(range(num_pages - 1, -1, -1))
        self.evictable: OrderedDict[int, None] = OrderedDict()

    @property
    def num_pages(self) -> int:
        """All pages."""
        return len(self.users)

    @property
    def num_available(self) -> int:
        """Pages that `take` can give: free or evictable."""
        return len(self.free) + len(self.evictable)

    def take(self) -> int:
        """Returns a page for one user. There must be one available; evicts the least recently used one if need be."""
        page = self.free.pop() if self.free else self._evict()
        self.users[page] = 1
        return page

    def acquire(self, page: int) -> None:
        """Adds a user."""
        if not self.users[page]:
            del self.evictable[page]
        self.users[page] += 1

    def release(self, page: int) -> None:
        """Takes a user away; after the last one, a page with a name is kept and another one is free."""
        self.users[page] -= 1
        if self.users[page]:
            return
        if self.nodes[page] is None:
            self.free.append(page)
        else:
            self.evictable[page] = None

    def name(self, page: int, node: PageNode) -> None:
        """Keeps a page under a name from now on."""
        node.page = page
        self.nodes[page] = node

    def copy(self, source: int, destination: int) -> None:
        """Copies a page."""
        for unit in self.memory:
            unit.copy_page(source, destination)

    def copy_from(self, other: PagePool, source: int, destination: int) -> None:
        """Copies a page of another replica."""
        for mine, theirs in zip(self.memory, other.memory, strict=True):
            mine.write_page(destination, theirs.buffer[source])

    def forget_names(self) -> None:
        """Frees the evictable pages; those in use lose their names."""
        for page, node in enumerate(self.nodes):
            if node is not None:
                node.page = None
                self.nodes[page] = None
        self.free.extend(reversed(self.evictable))
        self.evictable.clear()

    def problems(self, users: Mapping[int, int]) -> Iterator[str]:
        """Yields what does not hold though it must.

        Args:
            users: How many requests have each page.
        """
        for page, (count, node) in enumerate(zip(self.users, self.nodes, strict=True)):
            if count != users.get(page, 0):
                yield f"page {page} has {count} users rather than {users.get(page, 0)}"
            if node is not None and node.page != page:
                yield f"page {page} has the name of page {node.page}"
        unused = sorted([*self.free, *self.evictable])
        if unused != [page for page, count in enumerate(self.users) if not count]:
            yield f"free and evictable pages are {unused}"
        if any(self.nodes[page] is not None for page in self.free):
            yield "a free page has a name"
        if any(self.nodes[page] is None for page in self.evictable):
            yield "an evictable page has no name"

    def _evict(self) -> int:
        page, _ = self.evictable.popitem(last=False)
        node = self.nodes[page]
        assert node is not None
        self._host.save(node, page)
        node.page = None
        self.nodes[page] = None
        self._index.prune(node)
        return page
