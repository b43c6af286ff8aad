# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How decode steps are told apart, and what is counted."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

from kvern.driver import Buffer, Device
from kvern.dtype import DType
from kvern.errors import UnsupportedError

__all__ = [
    "AttnKey",
    "AttnKeyInterface",
    "BatchCharacteristics",
    "KVCacheMetrics",
    "MHAAttnKey",
    "MLAAttnKey",
    "MSAAttnKey",
]


@dataclass(frozen=True)
class BatchCharacteristics:
    """Upper bounds of a batch.

    Attributes:
        batch_size: Sequences.
        max_prompt_length: Most new tokens of a sequence.
        max_cache_valid_length: Most tokens of a sequence, new ones included.
    """

    batch_size: int
    max_prompt_length: int
    max_cache_valid_length: int


@runtime_checkable
class AttnKeyInterface(Protocol):
    """What a captured decode step is found by; hashable."""

    def pack_into_buffer(self, device: Device, max_cache_valid_length: int) -> Buffer:
        """Returns the key as a Buffer for kernels."""
        ...


@dataclass(frozen=True)
class AttnKey:
    """What a captured decode step is found by.

    Attributes:
        batch_size: Sequences.
        max_prompt_length: Most new tokens of a sequence.
        num_partitions: Parts that the keys of a sequence are split into; the result does not depend on it, but for
            rounding.
    """

    batch_size: int
    max_prompt_length: int
    num_partitions: int

    def pack_into_buffer(self, device: Device, max_cache_valid_length: int) -> Buffer:
        """Returns int64 `[4]`: batch_size, max_prompt_length, num_partitions, max_cache_valid_length.

        Args:
            device: Where the Buffer is.
            max_cache_valid_length: Most tokens of a sequence, new ones included.
        """
        host = Buffer(DType.int64, [4])
        host.to_numpy()[:] = (
            self.batch_size,
            self.max_prompt_length,
            self.num_partitions,
            max_cache_valid_length,
        )
        return host.to(device)


class MHAAttnKey(AttnKey):
    """The key of a step of multi-head attention."""


class MLAAttnKey(AttnKey):
    """The key of a step of latent attention."""


@dataclass(frozen=True)
class MSAAttnKey:
    """The key of a step of block-sparse attention, which has no kernel."""

    def pack_into_buffer(self, device: Device, max_cache_valid_length: int) -> Buffer:
        """Refused: block-sparse attention has no kernel.

        Args:
            device: Where the Buffer would be.
            max_cache_valid_length: Most tokens of a sequence, new ones included.

        Raises:
            NotImplementedError: Always.
        """
        raise UnsupportedError(
            "MSAAttnKey: block-sparse attention has no kernel; available are MHAAttnKey and MLAAttnKey"
        )


@dataclass
class KVCacheMetrics:
    """Counts of a cache. Those of disks and of distributed services stay 0.

    Attributes:
        input_tokens: Tokens that were computed.
        cache_tokens: Tokens that the prefix cache had.
        h2d_blocks_copied: Pages copied from the host.
        d2h_blocks_copied: Pages copied to the host.
        cross_replica_blocks_copied: Pages copied from another replica.
        disk_blocks_written: 0.
        disk_blocks_read: 0.
        inflight_disk_ops: 0.
        nixl_read_blocks: 0.
        nixl_write_blocks: 0.
        nixl_read_latency_total_ms: 0.
        nixl_read_latency_count: 0.
        nixl_write_latency_total_ms: 0.
        nixl_write_latency_count: 0.
        rpc_acquire_latency_total_ms: 0.
        rpc_acquire_latency_count: 0.
        rpc_read_latency_total_ms: 0.
        rpc_read_latency_count: 0.
        nixl_read_bytes: 0.
        nixl_write_bytes: 0.
        nixl_read_blocks_local: 0.
        nixl_read_blocks_remote: 0.
        dkv_connected_clients: 0.
        dkv_total_clients: 0.
        dkv_reconnect_attempts: 0.
    """

    input_tokens: int = 0
    cache_tokens: int = 0
    h2d_blocks_copied: int = 0
    d2h_blocks_copied: int = 0
    cross_replica_blocks_copied: int = 0
    disk_blocks_written: int = 0
    disk_blocks_read: int = 0
    inflight_disk_ops: int = 0
    nixl_read_blocks: int = 0
    nixl_write_blocks: int = 0
    nixl_read_latency_total_ms: float = 0
    nixl_read_latency_count: int = 0
    nixl_write_latency_total_ms: float = 0
    nixl_write_latency_count: int = 0
    rpc_acquire_latency_total_ms: float = 0
    rpc_acquire_latency_count: int = 0
    rpc_read_latency_total_ms: float = 0
    rpc_read_latency_count: int = 0
    nixl_read_bytes: int = 0
    nixl_write_bytes: int = 0
    nixl_read_blocks_local: int = 0
    nixl_read_blocks_remote: int = 0
    dkv_connected_clients: int = 0
    dkv_total_clients: int = 0
    dkv_reconnect_attempts: int = 0

    def __add__(self, other: KVCacheMetrics) -> KVCacheMetrics:
        """Returns the sums of the counts."""
        if not isinstance(other, KVCacheMetrics):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return KVCacheMetrics(**{n: getattr(self, n) + getattr(other, n) for n in names})
