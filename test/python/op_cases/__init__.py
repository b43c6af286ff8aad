# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numeric cases of the public ops, one module a family."""

from __future__ import annotations

from types import ModuleType

from op_cases import (
    attention,
    buffer,
    constant,
    contraction,
    convolution,
    elementwise,
    elementwise_binary,
    indexing,
    kv_cache,
    norm,
    pooling,
    quantization,
    reduction,
    sampling,
    shape,
)

FAMILIES: tuple[ModuleType, ...] = (
    elementwise,
    elementwise_binary,
    reduction,
    contraction,
    quantization,
    attention,
    kv_cache,
    convolution,
    pooling,
    norm,
    shape,
    indexing,
    constant,
    buffer,
    sampling,
)
