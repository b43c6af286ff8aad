# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numeric cases of the public ops, one module a family."""

from __future__ import annotations

from types import ModuleType

from op_cases import (
    buffer,
    constant,
    contraction,
    elementwise,
    elementwise_binary,
    indexing,
    norm,
    reduction,
    shape,
)

FAMILIES: tuple[ModuleType, ...] = (
    elementwise,
    elementwise_binary,
    reduction,
    contraction,
    norm,
    shape,
    indexing,
    constant,
    buffer,
)
