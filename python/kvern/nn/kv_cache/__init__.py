# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged caches of keys and values: their parameters, and the inputs that graphs take for them.

A page holds `page_size` tokens of all layers. Position `p` of sequence `b` is row `p % page_size` of page
`lookup_table[b, p // page_size]`. `kvern.kv_cache` gives pages to requests.
"""

from __future__ import annotations

from kvern.nn.kv_cache._inputs import (
    KVCacheInputs,
    KVCacheInputsPerDevice,
    MultiKVCacheInputs,
    PagedCacheValues,
    build_max_lengths_tensors,
    unflatten_ragged_attention_inputs,
)
from kvern.nn.kv_cache._multi import MultiKVCacheParams
from kvern.nn.kv_cache._options import KVCacheQuantizationConfig, KVConnectorType
from kvern.nn.kv_cache._params import (
    KVCacheParamInterface,
    KVCacheParams,
    MHAKVCacheParams,
    MLAKVCacheParams,
    MSAKVCacheParams,
)

__all__ = [
    "KVCacheInputs",
    "KVCacheInputsPerDevice",
    "KVCacheParamInterface",
    "KVCacheParams",
    "KVCacheQuantizationConfig",
    "KVConnectorType",
    "MHAKVCacheParams",
    "MLAKVCacheParams",
    "MSAKVCacheParams",
    "MultiKVCacheInputs",
    "MultiKVCacheParams",
    "PagedCacheValues",
    "build_max_lengths_tensors",
    "unflatten_ragged_attention_inputs",
]
