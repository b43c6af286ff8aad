# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of the pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import InputError

__all__ = [
    "KVCacheBuffer",
    "KVCacheBufferInterface",
    "KVCacheMemory",
    "MultiKVCacheBuffer",
    "ReplicatedKVCacheMemory",
]


@dataclass(frozen=True)
class KVCacheMemory:
    """Pages as bytes, for copies of whole pages.

    Attributes:
        buffer: uint8 `[num_pages, bytes_per_page]`.
    """

    buffer: Buffer

    def __post_init__(self) -> None:
        if self.buffer.dtype is not DType.uint8 or self.buffer.rank != 2:
            raise InputError(
                f"KVCacheMemory: expected a uint8 buffer [num_pages, bytes_per_page], but got {self.buffer}"
            )

    @property
    def total_num_pages(self) -> int:
        """Number of pages."""
        return self.buffer.shape[0]

    @property
    def bytes_per_page(self) -> int:
        """Bytes of a page in this buffer."""
        return self.buffer.shape[1]

    def read_page(self, page: int, into: Buffer) -> None:
        """Copies a page out.

        Args:
            page: Which one.
            into: uint8 `[bytes_per_page]`.
        """
        into.inplace_copy_from(self.buffer[page])

    def write_page(self, page: int, source: Buffer) -> None:
        """Overwrites a page.

        Args:
            page: Which one.
            source: uint8 `[bytes_per_page]`.
        """
        self.buffer[page].inplace_copy_from(source)

    def copy_page(self, source: int, destination: int) -> None:
        """Overwrites a page with another one.

        Args:
            source: The page to read.
            destination: The page to write.
        """
        self.write_page(destination, self.buffer[source])


@dataclass(frozen=True)
class ReplicatedKVCacheMemory(KVCacheMemory):
    """Pages as bytes that several devices hold alike: reads take those of `buffer`, writes go to all.

    Attributes:
        buffer: uint8 `[num_pages, bytes_per_page]`.
        peers: The same on the other devices.
    """

    peers: Sequence[Buffer] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for peer in self.peers:
            if peer.dtype is not DType.uint8 or peer.shape != self.buffer.shape:
                raise InputError(
                    f"ReplicatedKVCacheMemory: expected peers of uint8 {list(self.buffer.shape)}, but got {peer}"
                )

    def write_page(self, page: int, source: Buffer) -> None:
        """Overwrites a page on every device.

        Args:
            page: Which one.
            source: uint8 `[bytes_per_page]`.
        """
        super().write_page(page, source)
        for peer in self.peers:
            peer[page].inplace_copy_from(source)


@runtime_checkable
class KVCacheBufferInterface(Protocol):
    """The pages of a replica, of one cache or of a tree of caches."""

    @property
    def all_buffers(self) -> list[Buffer]:
        """Every buffer."""
        ...

    def to_memory(self) -> list[KVCacheMemory]:
        """Returns the pages as bytes; copying one page means copying it in each of these."""
        ...


@dataclass(frozen=True)
class KVCacheBuffer:
    """The pages of a replica.

    Attributes:
        replicates_kv_across_tp: Whether the devices hold the same pages (latent rows), rather than some heads each.
        values: `[num_pages, 2 | 1, layers, page, heads, head_dim]` on each device.
        scales: `[num_pages, 2 | 1, layers, page, heads, groups]` on each device; None of plain elements.
        values_per_layer: Pages by layer; not supported.
    """

    replicates_kv_across_tp: bool
    values: list[Buffer]
    scales: list[Buffer] | None = None
    values_per_layer: list[list[Buffer]] | None = None

    def __post_init__(self) -> None:
        if not self.values or self.values_per_layer is not None:
            raise InputError(
                "KVCacheBuffer: expected values for at least one device, and values_per_layer=None"
            )
        if self.scales is not None and len(self.scales) != len(self.values):
            raise InputError(
                f"KVCacheBuffer: expected scales for {len(self.values)} devices, but got {len(self.scales)}"
            )
        pages = {buffer.shape[0] for buffer in self.all_buffers}
        if len(pages) != 1:
            raise InputError(
                f"KVCacheBuffer: expected buffers of as many pages, but got {sorted(pages)}"
            )

    @property
    def total_num_pages(self) -> int:
        """Number of pages."""
        return self.values[0].shape[0]

    @property
    def all_buffers(self) -> list[Buffer]:
        """The values of each device, then the scales."""
        return [*self.values, *(self.scales or [])]

    def to_memory(self) -> list[KVCacheMemory]:
        """Returns the pages as bytes; copying one page means copying it in each of these."""
        made: list[KVCacheMemory] = []
        for buffers in (self.values, self.scales or []):
            units = [_as_bytes(buffer) for buffer in buffers]
            if self.replicates_kv_across_tp and len(units) > 1:
                made.append(ReplicatedKVCacheMemory(units[0], units[1:]))
            else:
                made.extend(map(KVCacheMemory, units))
        return made


@dataclass(frozen=True)
class MultiKVCacheBuffer:
    """The pages of a replica of a tree of caches.

    Attributes:
        children: Those of each cache.
    """

    children: Sequence[KVCacheBufferInterface]

    @property
    def all_buffers(self) -> list[Buffer]:
        """The buffers of the children in order."""
        return [buffer for child in self.children for buffer in child.all_buffers]

    def to_memory(self) -> list[KVCacheMemory]:
        """Returns the pages as bytes; copying one page means copying it in each of these."""
        return [unit for child in self.children for unit in child.to_memory()]


def _as_bytes(buffer: Buffer) -> Buffer:
    pages, *rest = buffer.shape
    return buffer.view(DType.uint8, [pages, math.prod(rest) * buffer.element_size])
