# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged caches of keys and values: their parameters, and the inputs that graphs take for them.

A page holds `page_size` tokens of all layers. Position `p` of sequence `b` is row `p % page_size` of page
`lookup_table[b, p // page_size]`. `kvern.kv_cache` gives pages to requests.
"""

from __future__ import annotations

from kvern.nn.kv_cache._buffers import (
    KVCacheBuffer,
    KVCacheBufferInterface,
    KVCacheMemory,
    MultiKVCacheBuffer,
    ReplicatedKVCacheMemory,
)
from kvern.nn.kv_cache._building import KVCacheAssignment
from kvern.nn.kv_cache._dispatch import (
    AttnKey,
    AttnKeyInterface,
    BatchCharacteristics,
    KVCacheMetrics,
    MHAAttnKey,
    MLAAttnKey,
    MSAAttnKey,
)
from kvern.nn.kv_cache._inputs import (
    KVCacheInputs,
    KVCacheInputsPerDevice,
    MultiKVCacheInputs,
    PagedCacheValues,
    build_max_lengths_tensors,
    unflatten_ragged_attention_inputs,
)
from kvern.nn.kv_cache._interface import KVCacheParamInterface
from kvern.nn.kv_cache._multi import MultiKVCacheParams
from kvern.nn.kv_cache._options import KVCacheQuantizationConfig, KVConnectorType
from kvern.nn.kv_cache._params import (
    KVCacheParams,
    MHAKVCacheParams,
    MLAKVCacheParams,
    MSAKVCacheParams,
)
from kvern.nn.kv_cache._sizing import (
    compute_max_seq_len_fitting_in_cache,
    compute_num_device_blocks,
    compute_num_host_blocks,
    estimated_memory_size,
)

__all__ = [
    "AttnKey",
    "AttnKeyInterface",
    "BatchCharacteristics",
    "KVCacheAssignment",
    "KVCacheBuffer",
    "KVCacheBufferInterface",
    "KVCacheInputs",
    "KVCacheInputsPerDevice",
    "KVCacheMemory",
    "KVCacheMetrics",
    "KVCacheParamInterface",
    "KVCacheParams",
    "KVCacheQuantizationConfig",
    "KVConnectorType",
    "MHAAttnKey",
    "MHAKVCacheParams",
    "MLAAttnKey",
    "MLAKVCacheParams",
    "MSAAttnKey",
    "MSAKVCacheParams",
    "MultiKVCacheBuffer",
    "MultiKVCacheInputs",
    "MultiKVCacheParams",
    "PagedCacheValues",
    "ReplicatedKVCacheMemory",
    "build_max_lengths_tensors",
    "compute_max_seq_len_fitting_in_cache",
    "compute_num_device_blocks",
    "compute_num_host_blocks",
    "estimated_memory_size",
    "unflatten_ragged_attention_inputs",
]
