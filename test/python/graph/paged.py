# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches over paged caches, and attention over them by its definition in float64."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.graph import BufferType, DeviceRef, PagedCacheValue, TensorType, ops
from op_cases.attention import reference

CPU = DeviceRef.CPU()
U32 = DType.uint32


@dataclass
class Cache:
    """Pages in memory, with tables that say whose they are."""

    lengths: list[int]
    heads: int
    head_dim: int
    page_size: int = 16
    layers: int = 2
    dtype: DType = DType.float32
    granularity: int = 0
    spare: int = 3
    seed: int = 0
    blocks: np.ndarray[Any, Any] = field(init=False)
    scales: np.ndarray[Any, Any] | None = field(init=False)
    table: np.ndarray[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Deals pages in random order; entries that no one may read name pages that are not there."""
        rng = np.random.default_rng(self.seed)
        counts = [-(-length // self.page_size) for length in self.lengths]
        pages = sum(counts) + self.spare
        shape = [pages, 2, self.layers, self.page_size, self.heads, self.head_dim]
        self.blocks = np.zeros(shape, self.dtype.to_ml_dtypes())
        self.scales = None
        if self.granularity:
            groups = self.head_dim // self.granularity
            self.scales = np.full([*shape[:-1], groups], np.nan, np.float32)
        order = iter(rng.permutation(pages))
        self.table = np.full([len(counts), max(counts, default=0) + 1], 2**31, np.uint32)
        for row, count in zip(self.table, counts, strict=True):
            row[:count] = [next(order) for _ in range(count)]

    def types(self) -> list[BufferType | TensorType]:
        """The inputs of a graph: blocks, lengths, table, bounds, scales."""
        blocks = BufferType(self.dtype, ["pages", *self.blocks.shape[1:]], CPU)
        tables = [
            TensorType(U32, ["batch"], CPU),
            TensorType(U32, ["batch", "most"], CPU),
            TensorType(U32, [1], CPU),
            TensorType(U32, [1], CPU),
        ]
        if self.scales is None:
            return [blocks, *tables]
        scales = BufferType(DType.float32, ["pages", *self.scales.shape[1:]], CPU)
        return [blocks, *tables, scales]

    def values(self, cached: list[int]) -> list[Any]:
        """The inputs for a step in which sequences have `cached` tokens in the cache."""
        inputs = [
            Buffer.from_numpy(self.blocks.view(np.uint8)).view(self.dtype, self.blocks.shape)
            if self.dtype.size_in_bytes == 1
            else Buffer.from_numpy(self.blocks),
            np.array(cached, np.uint32),
            self.table,
            np.array([max(self.lengths, default=0)], np.uint32),
            np.array([max(self.lengths, default=0)], np.uint32),
        ]
        return inputs if self.scales is None else [*inputs, Buffer.from_numpy(self.scales)]

    def rows(self, batch: int, side: int, layer: int, count: int) -> np.ndarray[Any, Any]:
        """Keys (side 0) or values of a sequence, `[count, heads, head_dim]` in float64."""
        pages = self.table[batch, : -(-count // self.page_size)]
        found = self.blocks[pages, side, layer].astype(np.float64)
        if self.scales is not None:
            scales = self.scales[pages, side, layer].astype(np.float64)
            found *= np.repeat(scales, self.granularity, -1)
        return found.reshape(-1, self.heads, self.head_dim)[:count]


def bundle(inputs: list[Any]) -> PagedCacheValue:
    """The cache of graph inputs in the order of `Cache.types`."""
    blocks, *tables = inputs[:5]
    scales = inputs[5].buffer if len(inputs) > 5 else None
    return ops.paged_cache(blocks.buffer, *[value.tensor for value in tables], kv_scales=scales)


def offsets_of(counts: list[int]) -> np.ndarray[Any, Any]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def attend(
    cache: Cache,
    q: np.ndarray[Any, Any],
    counts: list[int],
    layer: int,
    value_dim: int = 0,
    **options: Any,
) -> np.ndarray[Any, Any]:
    """Attention of the last `counts` tokens of sequences that are as long as the cache says.

    Values are the first `value_dim` elements of keys in a latent cache, for which it is not 0.
    """
    offsets = offsets_of(counts)
    found = np.zeros([*q.shape[:-1], value_dim or cache.head_dim])
    for batch, (length, start, stop) in enumerate(
        zip(cache.lengths, offsets[:-1], offsets[1:], strict=True)
    ):
        if start == stop:
            continue
        k = cache.rows(batch, 0, layer, length)
        v = k[..., :value_dim] if value_dim else cache.rows(batch, 1, layer, length)
        rows = q[None, start:stop].astype(np.float64)
        found[start:stop] = reference(rows, k[None], v[None], **options)[0]
    return found
