# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of a request."""

from __future__ import annotations

from collections.abc import Hashable

from kvern.kv_cache._prefix import PageNode

__all__ = ["PageSequence"]


class PageSequence:
    """The pages of a request.

    Attributes:
        request_id: Name of the request.
        pages: Page `j` of its tokens; of the first `dropped` ones, which lie before the window, 0.
        dropped: Pages given back.
        reserved: Tokens that have pages.
        tip: The node of its last page with a name; the root before the first one.
        named: Pages with a name, all before the others.
        can_name: Whether its next pages may get names.
        version: Grows when `pages` changes.
    """

    __slots__ = (
        "can_name",
        "dropped",
        "named",
        "pages",
        "request_id",
        "reserved",
        "tip",
        "version",
    )

    def __init__(self, request_id: Hashable, root: PageNode, can_name: bool) -> None:
        self.request_id = request_id
        self.pages: list[int] = []
        self.dropped = 0
        self.reserved = 0
        self.tip = root
        self.named = 0
        self.can_name = can_name
        self.version = 0

    @property
    def held(self) -> list[int]:
        """The pages that it uses."""
        return self.pages[self.dropped :]
