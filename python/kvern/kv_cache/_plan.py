# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a cache, known before there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvern.errors import InputError
from kvern.nn.kv_cache import KVCacheParamInterface

__all__ = ["CacheMemoryPlan", "plan_memory", "table_columns"]


@dataclass(frozen=True)
class CacheMemoryPlan:
    """Bytes of a cache.

    Attributes:
        page_size: Tokens of a page.
        pages: Pages of each replica.
        host_pages: Pages of each replica on the host.
        replicas: Replicas.
        bytes_per_page: Bytes of a page, all layers.
        terms: Bytes of each term, by name: "pages", "host pages", "lookup tables" and "lengths" of all replicas.
    """

    page_size: int
    pages: int
    host_pages: int
    replicas: int
    bytes_per_page: int
    terms: Mapping[str, int]

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.terms.values())

    @property
    def tokens(self) -> int:
        """Tokens that the pages of a replica hold."""
        return self.pages * self.page_size

    def __str__(self) -> str:
        replicas = f" on each of {self.replicas} replicas" if self.replicas > 1 else ""
        lines = [
            f"memory of a cache of {self.pages} pages of {self.page_size} tokens ({self.tokens} tokens, "
            f"{self.bytes_per_page} bytes a page){replicas}:"
        ]
        for name, size in {**self.terms, "total": self.total}.items():
            lines.append(f"  {name:13} {size:>16,} B {size / 2**20:>12,.2f} MiB")
        return "\n".join(lines)


def plan_memory(
    params: KVCacheParamInterface,
    total_num_pages: int,
    total_num_host_pages: int = 0,
    *,
    max_batch_size: int,
    max_seq_len: int | None = None,
) -> CacheMemoryPlan:
    """Returns the memory that a `PagedKVCacheManager` of these arguments allocates, without allocating any.

    With a window and no `max_seq_len`, tables grow when a request gets longer than the cache.

    Args:
        params: The cache.
        total_num_pages: Pages of each replica.
        total_num_host_pages: Pages of each replica on the host.
        max_batch_size: Most requests of a replica in a step.
        max_seq_len: Most tokens of a request; None for any number.

    Raises:
        ValueError: A number is too small.
    """
    for name, number, least in (
        ("total_num_pages", total_num_pages, 1),
        ("total_num_host_pages", total_num_host_pages, 0),
        ("max_batch_size", max_batch_size, 1),
        ("max_seq_len", 1 if max_seq_len is None else max_seq_len, 1),
    ):
        if number < least:
            raise InputError(f"expected {name} >= {least}, but got {number}")
    replicas, size = params.data_parallel_degree, params.bytes_per_block
    columns = table_columns(params, total_num_pages, max_seq_len)
    terms = {
        "pages": replicas * total_num_pages * size,
        "host pages": replicas * total_num_host_pages * size,
        "lookup tables": replicas * max_batch_size * columns * 4,
        "lengths": replicas * (max_batch_size + 2) * 4,
    }
    return CacheMemoryPlan(
        params.page_size, total_num_pages, total_num_host_pages, replicas, size, terms
    )


def table_columns(
    params: KVCacheParamInterface, total_num_pages: int, max_seq_len: int | None
) -> int:
    """Returns the most pages of a request."""
    return total_num_pages if max_seq_len is None else -(-max_seq_len // params.page_size)
