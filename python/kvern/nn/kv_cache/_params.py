# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a paged cache holds: element types, shapes, devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import DeviceError, ShapeError, UnsupportedError
from kvern.graph import BufferType, DeviceRef, TensorType
from kvern.nn.kv_cache._buffers import KVCacheBuffer
from kvern.nn.kv_cache._building import (
    KVCacheAssignment,
    allocate_buffers,
    runtime_inputs,
    symbolic_inputs,
)
from kvern.nn.kv_cache._checks import check_dtype, check_options
from kvern.nn.kv_cache._inputs import KVCacheInputs
from kvern.nn.kv_cache._interface import DerivedCounts
from kvern.nn.kv_cache._options import (
    KVCacheQuantizationConfig,
    KVConnectorType,
)

__all__ = [
    "KVCacheParams",
    "MHAKVCacheParams",
    "MLAKVCacheParams",
    "MSAKVCacheParams",
]

_SHORTHANDS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float8_e4m3fn": "f8_e4m3fn"}


@dataclass(frozen=True)
class KVCacheParams(DerivedCounts):
    """Parameters of one paged cache. Abstract: make a `MHAKVCacheParams` or a `MLAKVCacheParams`.

    Attributes:
        dtype: Element type of the pages: float32, bfloat16 or float16; with `kvcache_quant_config`, float8_e4m3fn
            or int8.
        head_dim: Width of a head; of a latent cache, latent and rotated part together.
        num_layers: Layers that the cache holds.
        devices: All devices, replica by replica.
        enable_prefix_caching: Whether full pages are kept for requests that begin alike.
        enable_dp_cross_replica_prefix_copy: Whether a replica may copy such pages from another one.
        per_layer_buffers: Whether each layer has a buffer of its own. Not supported.
        kv_connector: Where pages go that leave the device's memory.
        kv_hash_algo: How pages are named: "ahash64", "sha256" or "sha256_64". Tokens are compared as well, so two
            pages of one name are never taken for each other.
        kv_hash_seed: Mixed into the names.
        kv_connector_config: Settings of connectors that are not supported.
        host_kvcache_swap_space_gb: GiB of host memory for `KVConnectorType.local`.
        page_size: Tokens of a page.
        data_parallel_degree: Replicas. Each has `len(devices) / data_parallel_degree` devices.
        kvcache_quant_config: How the elements are scaled; None for plain ones.
        speculative_method: "eagle", "mtp" or "dflash"; None for none.
        num_draft_tokens: Tokens that a draft proposes.
    """

    dtype: DType
    head_dim: int
    num_layers: int
    devices: Sequence[DeviceRef]
    enable_prefix_caching: bool = False
    enable_dp_cross_replica_prefix_copy: bool = True
    per_layer_buffers: bool = False
    kv_connector: KVConnectorType | None = None
    kv_hash_algo: str = "ahash64"
    kv_hash_seed: int | None = None
    kv_connector_config: Any = None
    host_kvcache_swap_space_gb: float | None = None
    page_size: int = 128
    data_parallel_degree: int = 1
    kvcache_quant_config: KVCacheQuantizationConfig | None = None
    speculative_method: str | None = None
    num_draft_tokens: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if type(self) is KVCacheParams:
            raise UnsupportedError(
                "KVCacheParams is abstract: use MHAKVCacheParams (keys and values) or MLAKVCacheParams (latent)"
            )
        object.__setattr__(self, "devices", tuple(map(DeviceRef.from_device, self.devices)))
        for field in ("head_dim", "num_layers", "page_size", "data_parallel_degree"):
            if getattr(self, field) < 1:
                raise ShapeError(f"{name}: expected {field} >= 1, but got {getattr(self, field)}")
        if not self.devices or len(self.devices) % self.data_parallel_degree:
            raise DeviceError(
                f"{name}: expected a number of devices that data_parallel_degree "
                f"({self.data_parallel_degree}) divides, but got {len(self.devices)}"
            )
        check_dtype(self)
        check_options(self)

    # --- Shapes -----------------------------------------------------------------------------------------------

    @property
    def is_mla(self) -> bool:
        """Whether a page holds latent rows rather than keys and values."""
        return False

    @property
    def replicates_kv_across_tp(self) -> bool:
        """Whether the devices of a replica hold the same pages rather than some heads each."""
        return self.is_mla

    @property
    def n_kv_heads_per_device(self) -> int:
        """Key and value heads on each device."""
        raise NotImplementedError

    @property
    def kv_dim(self) -> int:
        """2, for keys and values; 1 for latent rows."""
        return 1 if self.is_mla else 2

    @property
    def dtype_shorthand(self) -> str:
        """Short name of the element type, such as "bf16"."""
        return _SHORTHANDS.get(self.dtype.name, self.dtype.name)

    @property
    def shape_per_block(self) -> list[int]:
        """Shape of a page on a device: [keys and values, layers, page, heads, head_dim]."""
        heads = self.n_kv_heads_per_device
        return [self.kv_dim, self.num_layers, self.page_size, heads, self.head_dim]

    @property
    def scales_shape_per_block(self) -> list[int] | None:
        """Shape of a page's scales: [keys and values, layers, page, heads, groups]; None without."""
        config = self.kvcache_quant_config
        return (
            None if config is None else [*self.shape_per_block[:-1], config.groups(self.head_dim)]
        )

    @property
    def bytes_per_block_per_device(self) -> int:
        """Bytes of a page on one device, scales included."""
        size = math.prod(self.shape_per_block) * self.dtype.size_in_bytes
        if self.kvcache_quant_config is not None and self.scales_shape_per_block is not None:
            scale = self.kvcache_quant_config.scale_dtype.size_in_bytes
            size += math.prod(self.scales_shape_per_block) * scale
        return size

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a page: all layers, on all devices of a replica."""
        return self.bytes_per_block_per_device * self.tensor_parallel_degree

    # --- Inputs of graphs -------------------------------------------------------------------------------------

    def get_symbolic_inputs(self, prefix: str = "") -> KVCacheInputs[TensorType, BufferType]:
        """Returns the types of the inputs that a graph needs for this cache.

        Args:
            prefix: Put before the names of the dims that count pages, so that two caches of one graph differ. The dim
                `batch_size` is the graph's and has none. With several replicas each has dims of its own.
        """
        return symbolic_inputs(self, prefix)

    def allocate_buffers(self, total_num_pages: int) -> list[KVCacheBuffer]:
        """Returns the memory of the pages, zeros, one object for each replica.

        Args:
            total_num_pages: Pages of each replica.

        Raises:
            ValueError: There are no pages, a device does not exist, or there is no kernel for several devices of a
                replica (the latter is a NotImplementedError too).
            MemoryError: There is not so much memory.
        """
        return allocate_buffers(self, total_num_pages)

    def build_runtime_inputs(
        self, assignments: Sequence[KVCacheAssignment], buffers: Sequence[KVCacheBuffer]
    ) -> KVCacheInputs[Buffer, Buffer]:
        """Returns the inputs of a run.

        Args:
            assignments: The sequences of each replica.
            buffers: The memory of each replica.

        Raises:
            ValueError: There are not as many as replicas.
        """
        return runtime_inputs(self, assignments, buffers)


@dataclass(frozen=True)
class MHAKVCacheParams(KVCacheParams):
    """Parameters of a cache of keys and values, for multi-head and grouped-query attention.

    Attributes:
        n_kv_heads: Key and value heads, split over the devices of a replica.
        allow_kv_head_replication: Whether devices may hold the same head when there are more devices than heads.
    """

    _: KW_ONLY
    n_kv_heads: int
    allow_kv_head_replication: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        name, degree = type(self).__name__, self.tensor_parallel_degree
        if self.n_kv_heads < 1:
            raise ShapeError(f"{name}: expected n_kv_heads >= 1, but got {self.n_kv_heads}")
        if self.n_kv_heads < degree and not self.allow_kv_head_replication:
            raise ShapeError(
                f"{name}: expected at least one of the {self.n_kv_heads} heads for each of the {degree} devices of a "
                "replica; allow_kv_head_replication=True lets devices hold the same head"
            )
        if max(self.n_kv_heads, degree) % min(self.n_kv_heads, degree):
            raise ShapeError(
                f"{name}: expected n_kv_heads and the {degree} devices of a replica to divide evenly, but got "
                f"{self.n_kv_heads} heads"
            )

    @property
    def n_kv_heads_per_device(self) -> int:
        """Key and value heads on each device."""
        return max(1, self.n_kv_heads // self.tensor_parallel_degree)


@dataclass(frozen=True)
class MLAKVCacheParams(KVCacheParams):
    """Parameters of a cache of latent rows, for multi-head latent attention: one row for each token and layer.

    Attributes:
        num_q_heads: Query heads of the attention.
    """

    _: KW_ONLY
    num_q_heads: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_q_heads < 1:
            raise ShapeError(
                f"MLAKVCacheParams: expected num_q_heads >= 1, but got {self.num_q_heads}"
            )

    @property
    def is_mla(self) -> bool:
        """True: a page holds latent rows."""
        return True

    @property
    def n_kv_heads(self) -> int:
        """One: the latent row."""
        return 1

    @property
    def n_kv_heads_per_device(self) -> int:
        """One: the latent row."""
        return 1


@dataclass(frozen=True)
class MSAKVCacheParams(MHAKVCacheParams):
    """Parameters of a cache for block-sparse attention, which has no kernel: making one is refused."""

    def __post_init__(self) -> None:
        raise UnsupportedError(
            "MSAKVCacheParams: block-sparse attention has no kernel; available are MHAKVCacheParams (also for "
            "sliding windows) and MLAKVCacheParams"
        )
