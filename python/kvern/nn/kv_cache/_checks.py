# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the parameters of a cache may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.dtype import DType
from kvern.errors import DTypeError, InputError, UnsupportedError
from kvern.nn.kv_cache._options import HASH_ALGORITHMS, SPECULATIVE_METHODS, KVConnectorType

if TYPE_CHECKING:
    from kvern.nn.kv_cache._params import KVCacheParams

__all__ = ["check_dtype", "check_options"]

_PLAIN = (DType.float32, DType.bfloat16, DType.float16)
_QUANTIZED = (DType.float8_e4m3fn, DType.int8)


def check_dtype(params: KVCacheParams) -> None:
    """Refuses element types without kernels."""
    name = type(params).__name__
    config = params.kvcache_quant_config
    allowed = _PLAIN if config is None else _QUANTIZED
    if params.dtype not in allowed:
        kind = "without" if config is None else "with"
        raise DTypeError(
            f"{name}: expected dtype to be one of {', '.join(map(str, allowed))} {kind} "
            f"kvcache_quant_config, but got {params.dtype}"
        )
    if config is not None:
        config.groups(params.head_dim)


def check_options(params: KVCacheParams) -> None:
    """Refuses options that are not supported, or do not fit together."""
    name = type(params).__name__
    if params.per_layer_buffers:
        raise UnsupportedError(
            f"{name}: expected per_layer_buffers=False, but got True: the kernels take the layers of a cache "
            "in one buffer"
        )
    if params.kv_hash_algo not in HASH_ALGORITHMS:
        raise InputError(
            f"{name}: expected kv_hash_algo to be one of {', '.join(HASH_ALGORITHMS)}, but got "
            f"{params.kv_hash_algo!r}"
        )
    if params.speculative_method not in (None, *SPECULATIVE_METHODS):
        raise InputError(
            f"{name}: expected speculative_method to be None or one of {', '.join(SPECULATIVE_METHODS)}, but "
            f"got {params.speculative_method!r}"
        )
    if params.num_draft_tokens < 0:
        raise InputError(
            f"{name}: expected num_draft_tokens >= 0, but got {params.num_draft_tokens}"
        )
    if params.kv_connector not in (None, KVConnectorType.null, KVConnectorType.local):
        raise UnsupportedError(
            f"{name}: expected kv_connector to be None, 'null' or 'local', but got {params.kv_connector!r}"
        )
    if params.kv_connector_config is not None:
        raise UnsupportedError(
            f"{name}: expected kv_connector_config=None, but got {params.kv_connector_config!r}: the connectors "
            "'null' and 'local' have no settings"
        )
    if params.kv_connector == KVConnectorType.local and not (
        params.enable_prefix_caching and params.host_kvcache_swap_space_gb
    ):
        raise InputError(
            f"{name}: expected enable_prefix_caching=True and host_kvcache_swap_space_gb > 0 with the connector "
            f"'local', but got {params.enable_prefix_caching} and {params.host_kvcache_swap_space_gb}"
        )
