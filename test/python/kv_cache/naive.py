# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for a model, and a cache so simple that it must be right.

What a "model" stores for a token is a number that depends on all tokens up to it, as real keys and values do. It goes
into the pages by the inputs of a graph alone, and what comes back is compared with the naive cache: the same numbers in
a list.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import DeviceRef
from kvern.kv_cache import PagedKVCacheManager, TextContext
from kvern.nn.kv_cache import MHAKVCacheParams


def small_params(replicas: int = 1, page_size: int = 4, **options: Any) -> MHAKVCacheParams:
    """Parameters of a cache that holds a number for each token."""
    options.setdefault("data_parallel_degree", replicas)
    return MHAKVCacheParams(
        DType.float32,
        1,
        1,
        [DeviceRef.CPU()] * replicas,
        n_kv_heads=1,
        page_size=page_size,
        **options,
    )


def naive_cache(tokens: Sequence[int]) -> list[float]:
    """What a model stores: a number below 2**23 for each token, which float32 holds exactly."""
    made, state = [], 1
    for token in tokens:
        state = zlib.crc32(int(token).to_bytes(8, "little"), state)
        made.append(float(state & 0x7FFFFF))
    return made


def run_step(
    manager: PagedKVCacheManager, batches: list[list[TextContext]], window: int | None = None
) -> None:
    """Stores the new tokens of a step, then reads all that attention sees and compares."""
    devices = manager.runtime_inputs(batches).inputs
    for batch, device in zip(batches, devices, strict=True):
        blocks, lengths, table, most, longest = [leaf.to_numpy() for leaf in device.flatten()]
        assert lengths.shape == (len(batch),) and len(table) == len(batch)
        size = blocks.shape[3]
        if batch:
            assert most[0] == max(context.active_length for context in batch)
            ends = [context.processed_length + context.active_length for context in batch]
            assert longest[0] == max(ends)

        def rows(row: int, begin: int, end: int, size: int = size, table: Any = table) -> Any:
            at = np.arange(begin, end)
            return table[row, at // size], at % size

        naive = [naive_cache(context.tokens) for context in batch]
        for row, context in enumerate(batch):
            begin, count = int(lengths[row]), context.active_length
            assert begin == context.processed_length
            page, offset = rows(row, begin, begin + count)
            blocks[page, 0, 0, offset, 0, 0] = naive[row][begin : begin + count]
            blocks[page, 1, 0, offset, 0, 0] = [-x for x in naive[row][begin : begin + count]]
        for row, context in enumerate(batch):
            begin = int(lengths[row])
            first = 0 if window is None else max(0, begin - window + 1)
            end = begin + context.active_length
            page, offset = rows(row, first, end)
            assert blocks[page, 0, 0, offset, 0, 0].tolist() == naive[row][first:end]
            assert blocks[page, 1, 0, offset, 0, 0].tolist() == [-x for x in naive[row][first:end]]


def advance(
    manager: PagedKVCacheManager,
    context: TextContext,
    token: int | None = None,
    replica_idx: int = 0,
    window: int | None = None,
) -> None:
    """One step of one request."""
    manager.alloc(context, replica_idx)
    batches: list[list[TextContext]] = [[] for _ in range(manager.params.data_parallel_degree)]
    batches[replica_idx].append(context)
    run_step(manager, batches, window)
    context.update(token)
    manager.step(batches)
