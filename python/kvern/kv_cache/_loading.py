# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Managers of as many pages as fit."""

from __future__ import annotations

from kvern.engine import InferenceSession
from kvern.kv_cache._manager import PagedKVCacheManager
from kvern.nn.kv_cache import (
    KVCacheParamInterface,
    KVConnectorType,
    compute_num_device_blocks,
    compute_num_host_blocks,
)

__all__ = ["load_kv_manager"]


def load_kv_manager(
    params: KVCacheParamInterface,
    max_batch_size: int,
    max_seq_len: int,
    session: InferenceSession | None,
    available_cache_memory: int,
    *,
    window: int | None = None,
) -> PagedKVCacheManager:
    """Returns a manager with as many pages as fit.

    Args:
        params: The cache, or a tree of caches.
        max_batch_size: Most requests of a replica in a step.
        max_seq_len: Most tokens of a request.
        session: Where models run.
        available_cache_memory: Bytes for the pages of all replicas.
        window: Tokens that attention sees in every layer; None when a layer sees all.

    Raises:
        InsufficientBlocksError: Not one page fits.
        ValueError: A number is too small, or there is no kernel for the devices.
    """
    pages = compute_num_device_blocks(
        params,
        available_cache_memory,
        max_batch_size,
        max_seq_len,
        require_max_seq_len_fits=available_cache_memory
        < params.bytes_per_block * params.data_parallel_degree,
    )
    host_pages = (
        compute_num_host_blocks(params) if params.kv_connector == KVConnectorType.local else 0
    )
    return PagedKVCacheManager(
        params,
        session,
        pages,
        host_pages,
        max_batch_size=max_batch_size,
        max_seq_len=max_seq_len,
        window=window,
    )
