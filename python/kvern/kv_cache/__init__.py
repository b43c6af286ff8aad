# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of a cache for requests: prefix caching, forks, eviction, offloading to the host, memory plans."""

from __future__ import annotations

from kvern.errors import InsufficientBlocksError, KVCacheError
from kvern.kv_cache._context import CacheContext, TextContext
from kvern.kv_cache._dummy import DummyKVCache
from kvern.kv_cache._loading import load_kv_manager
from kvern.kv_cache._manager import PagedKVCacheManager
from kvern.kv_cache._plan import CacheMemoryPlan, plan_memory

__all__ = [
    "CacheContext",
    "CacheMemoryPlan",
    "DummyKVCache",
    "InsufficientBlocksError",
    "KVCacheError",
    "PagedKVCacheManager",
    "TextContext",
    "load_kv_manager",
    "plan_memory",
]
