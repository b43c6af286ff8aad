# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many pages fit."""

from __future__ import annotations

import warnings

from kvern.errors import InputError, InsufficientBlocksError
from kvern.nn.kv_cache._interface import KVCacheParamInterface

__all__ = [
    "compute_max_seq_len_fitting_in_cache",
    "compute_num_device_blocks",
    "compute_num_host_blocks",
    "estimated_memory_size",
]


def compute_num_device_blocks(
    params: KVCacheParamInterface,
    available_cache_memory: int,
    max_batch_size: int | None,
    max_seq_len: int | None,
    require_max_seq_len_fits: bool = False,
) -> int:
    """Returns how many pages each replica gets.

    Args:
        params: The cache.
        available_cache_memory: Bytes for all replicas.
        max_batch_size: Most sequences of a replica; None for any number.
        max_seq_len: Most tokens of a sequence; None for any number. With both, no more pages are given than that many
            sequences of that length can fill.
        require_max_seq_len_fits: Whether it is an error, rather than a warning, when a sequence of `max_seq_len` does
            not fit.

    Raises:
        ValueError: A size is below 0, or 0 where there must be something.
        RuntimeError: `require_max_seq_len_fits`, and it does not fit: an `InsufficientBlocksError`.
    """
    if available_cache_memory < 0:
        raise InputError(f"expected available_cache_memory >= 0, but got {available_cache_memory}")
    for name, size in (("max_batch_size", max_batch_size), ("max_seq_len", max_seq_len)):
        if size is not None and size < 1:
            raise InputError(f"expected {name} >= 1, but got {size}")
    available = available_cache_memory // params.data_parallel_degree
    blocks = available // params.bytes_per_block
    per_sequence = 1 if max_seq_len is None else -(-max_seq_len // params.page_size)
    if max_batch_size is not None and max_seq_len is not None:
        blocks = min(blocks, max_batch_size * per_sequence)
    if blocks < per_sequence:
        tokens = 1 if max_seq_len is None else max_seq_len
        problem = (
            f"a sequence of {tokens} tokens needs {per_sequence} pages of {params.bytes_per_block} bytes, but "
            f"{available_cache_memory} bytes over {params.data_parallel_degree} replicas hold {blocks} pages each "
            f"({blocks * params.page_size} tokens)"
        )
        if require_max_seq_len_fits:
            raise InsufficientBlocksError(problem)
        warnings.warn(problem, stacklevel=2)
    return blocks


def compute_num_host_blocks(params: KVCacheParamInterface) -> int:
    """Returns how many pages of the host each replica gets of `host_kvcache_swap_space_gb`, in GiB.

    Args:
        params: The cache.
    """
    space = params.host_kvcache_swap_space_gb or 0
    return int(space * 2**30) // params.data_parallel_degree // params.bytes_per_block


def compute_max_seq_len_fitting_in_cache(
    params: KVCacheParamInterface, available_cache_memory: int
) -> int:
    """Returns the most tokens of a sequence, when it has a replica for itself.

    Args:
        params: The cache.
        available_cache_memory: Bytes for all replicas.
    """
    available = available_cache_memory // params.data_parallel_degree
    return available // params.bytes_per_block * params.page_size


def estimated_memory_size(
    params: KVCacheParamInterface,
    available_cache_memory: int,
    max_batch_size: int | None,
    max_seq_len: int | None,
) -> int:
    """Returns the bytes that the pages of all replicas take.

    Args:
        params: The cache.
        available_cache_memory: Bytes for all replicas.
        max_batch_size: Most sequences of a replica; None for any number.
        max_seq_len: Most tokens of a sequence; None for any number.

    Raises:
        ValueError: A size is below 0, or 0 where there must be something.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blocks = compute_num_device_blocks(
            params, available_cache_memory, max_batch_size, max_seq_len
        )
    return blocks * params.bytes_per_block * params.data_parallel_degree
