# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages by the tokens that lead to them.

A page's name is `h_j = hash(h_{j-1}, tokens of page j)`, and `h_{-1}` is the hash of a seed. The index is a dict of
these names, and its nodes a tree: each knows its parent and its tokens, which a search compares. So a name that two
pages share (64 bits are few) is a page less in the cache, and never another request's page.

A node stays while its page is somewhere, while other nodes follow it, and while a request stands at it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from kvern.nn.kv_cache import KVCacheParamInterface

__all__ = ["PageNode", "PrefixIndex"]

# Names never leave the process, so any good hash of 64 bits does for "ahash64".
_HASHES: dict[str, Callable[[bytes], bytes]] = {
    "ahash64": lambda data: hashlib.blake2b(data, digest_size=8).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "sha256_64": lambda data: hashlib.sha256(data).digest()[:8],
}


class PageNode:
    """A full page of tokens after other such pages.

    Attributes:
        key: The page's name.
        parent: The page before; None of the root.
        tokens: The tokens, as bytes.
        page: Where the page is on the device; None when it is not.
        host_page: Where a copy is on the host; None when there is none.
        uses: Nodes that follow, and requests that stand here.
    """

    __slots__ = ("host_page", "key", "page", "parent", "tokens", "uses")

    def __init__(self, key: bytes, parent: PageNode | None, tokens: bytes) -> None:
        self.key = key
        self.parent = parent
        self.tokens = tokens
        self.page: int | None = None
        self.host_page: int | None = None
        self.uses = 0


class PrefixIndex:
    """The pages of a replica by name."""

    def __init__(self, params: KVCacheParamInterface) -> None:
        self._hash = _HASHES[params.kv_hash_algo]
        self.root = PageNode(self._hash(str(params.kv_hash_seed).encode()), None, b"")
        self._nodes: dict[bytes, PageNode] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def nodes(self) -> Iterable[PageNode]:
        """All nodes but the root."""
        return self._nodes.values()

    def find(self, parent: PageNode, tokens: bytes) -> PageNode | None:
        """Returns the node of these tokens after `parent`; its page may be nowhere."""
        node = self._nodes.get(self._hash(parent.key + tokens))
        if node is None or node.parent is not parent or node.tokens != tokens:
            return None
        return node

    def add(self, parent: PageNode, tokens: bytes) -> PageNode | None:
        """Returns a new node, or None when another page has the name."""
        key = self._hash(parent.key + tokens)
        if key in self._nodes:
            return None
        node = self._nodes[key] = PageNode(key, parent, tokens)
        parent.uses += 1
        return node

    def hold(self, node: PageNode) -> None:
        """Keeps a node while a request stands at it."""
        node.uses += 1

    def drop(self, node: PageNode) -> None:
        """Ends one `hold`."""
        node.uses -= 1
        self.prune(node)

    def prune(self, node: PageNode) -> None:
        """Forgets a node that nobody needs, and then its parents."""
        while (
            node.parent is not None
            and not node.uses
            and node.page is None
            and node.host_page is None
            # After `clear` a node is known to requests alone.
            and self._nodes.get(node.key) is node
        ):
            del self._nodes[node.key]
            node = node.parent
            node.uses -= 1

    def clear(self) -> None:
        """Forgets all nodes."""
        self._nodes.clear()
