# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a paged cache holds: element types, shapes, devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kvern.dtype import DType
from kvern.errors import DeviceError, DTypeError, InputError, ShapeError, UnsupportedError
from kvern.graph import BufferType, DeviceRef, TensorType
from kvern.nn.kv_cache._inputs import KVCacheInputs, KVCacheInputsPerDevice
from kvern.nn.kv_cache._options import (
    HASH_ALGORITHMS,
    SPECULATIVE_METHODS,
    KVCacheQuantizationConfig,
    KVConnectorType,
)

if TYPE_CHECKING:
    pass

__all__ = [
    "KVCacheParamInterface",
    "KVCacheParams",
    "MHAKVCacheParams",
    "MLAKVCacheParams",
    "MSAKVCacheParams",
]

_PLAIN = (DType.float32, DType.bfloat16, DType.float16)
_QUANTIZED = (DType.float8_e4m3fn, DType.int8)
_SHORTHANDS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float8_e4m3fn": "f8_e4m3fn"}


@runtime_checkable
class KVCacheParamInterface(Protocol):
    """What one cache and a tree of caches have in common."""

    @property
    def page_size(self) -> int:
        """Tokens of a page."""
        ...

    @property
    def data_parallel_degree(self) -> int:
        """Replicas, each with pages of its own."""
        ...

    @property
    def devices(self) -> Sequence[DeviceRef]:
        """All devices, replica by replica."""
        ...

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        ...

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a page: all layers, on all devices of a replica."""
        ...

    def get_symbolic_inputs(self, prefix: str = "") -> Any:
        """Returns the types of a graph's inputs, with `prefix` before the names of dims."""
        ...

    def allocate_buffers(self, total_num_pages: int) -> Sequence[Any]:
        """Returns the memory of the pages, one object for each replica."""
        ...

    def build_runtime_inputs(self, assignments: Sequence[Any], buffers: Sequence[Any]) -> Any:
        """Returns the inputs of a run, of each replica's assignment and memory."""
        ...


@dataclass(frozen=True)
class KVCacheParams:
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
        self._check_dtype(name)
        self._check_options(name)

    def _check_dtype(self, name: str) -> None:
        config = self.kvcache_quant_config
        allowed = _PLAIN if config is None else _QUANTIZED
        if self.dtype not in allowed:
            kind = "without" if config is None else "with"
            raise DTypeError(
                f"{name}: expected dtype to be one of {', '.join(map(str, allowed))} {kind} "
                f"kvcache_quant_config, but got {self.dtype}"
            )
        if config is not None:
            config.groups(self.head_dim)

    def _check_options(self, name: str) -> None:
        if self.per_layer_buffers:
            raise UnsupportedError(
                f"{name}: expected per_layer_buffers=False, but got True: the kernels take the layers of a cache "
                "in one buffer"
            )
        if self.kv_hash_algo not in HASH_ALGORITHMS:
            raise InputError(
                f"{name}: expected kv_hash_algo to be one of {', '.join(HASH_ALGORITHMS)}, but got "
                f"{self.kv_hash_algo!r}"
            )
        if self.speculative_method not in (None, *SPECULATIVE_METHODS):
            raise InputError(
                f"{name}: expected speculative_method to be None or one of {', '.join(SPECULATIVE_METHODS)}, but "
                f"got {self.speculative_method!r}"
            )
        if self.num_draft_tokens < 0:
            raise InputError(
                f"{name}: expected num_draft_tokens >= 0, but got {self.num_draft_tokens}"
            )
        if self.kv_connector is not None:
            object.__setattr__(self, "kv_connector", KVConnectorType(self.kv_connector))
        if self.kv_connector not in (None, KVConnectorType.null, KVConnectorType.local):
            raise UnsupportedError(
                f"{name}: expected kv_connector to be None, 'null' or 'local', but got {str(self.kv_connector.value)!r}"
            )
        if self.kv_connector_config is not None:
            raise UnsupportedError(
                f"{name}: expected kv_connector_config=None, but got {self.kv_connector_config!r}: the connectors "
                "'null' and 'local' have no settings"
            )
        if self.kv_connector is KVConnectorType.local and not (
            self.enable_prefix_caching and self.host_kvcache_swap_space_gb
        ):
            raise InputError(
                f"{name}: expected enable_prefix_caching=True and host_kvcache_swap_space_gb > 0 with the connector "
                f"'local', but got {self.enable_prefix_caching} and {self.host_kvcache_swap_space_gb}"
            )

    # --- Shapes -----------------------------------------------------------------------------------------------

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @property
    def tensor_parallel_degree(self) -> int:
        """Devices of a replica."""
        return self.n_devices // self.data_parallel_degree

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
    def num_eagle_speculative_tokens(self) -> int:
        """Draft tokens of the method "eagle"."""
        return self.num_draft_tokens if self.speculative_method == "eagle" else 0

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
        inputs = []
        for index, device in enumerate(self.devices):
            replica = index // self.tensor_parallel_degree
            own = f"replica_{replica}_" if self.data_parallel_degree > 1 else ""
            pages, batch = f"{prefix}{own}total_num_pages", f"{own}batch_size"
            scales = None
            if self.kvcache_quant_config is not None and self.scales_shape_per_block is not None:
                shape = [pages, *self.scales_shape_per_block]
                scales = BufferType(self.kvcache_quant_config.scale_dtype, shape, device)
            inputs.append(
                KVCacheInputsPerDevice(
                    kv_blocks=BufferType(self.dtype, [pages, *self.shape_per_block], device),
                    cache_lengths=TensorType(DType.uint32, [batch], device),
                    lookup_table=TensorType(
                        DType.uint32, [batch, f"{prefix}{own}max_num_pages"], device
                    ),
                    max_prompt_length=TensorType(DType.uint32, [1], DeviceRef.CPU()),
                    max_cache_length=TensorType(DType.uint32, [1], DeviceRef.CPU()),
                    kv_scales=scales,
                )
            )
        return KVCacheInputs(inputs)


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
