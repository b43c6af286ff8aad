# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which kvern ops an ONNX operator is, by family."""

from __future__ import annotations

from onnx_mapping import (
    activation,
    arithmetic,
    contraction,
    convolution,
    indexing,
    norm,
    reduction,
    shape,
)
from onnx_mapping.registry import MAPPING, Entry, Node, NotMapped, dtype_of

FAMILIES = (activation, arithmetic, contraction, convolution, indexing, norm, reduction, shape)

__all__ = ["FAMILIES", "MAPPING", "Entry", "Node", "NotMapped", "dtype_of"]
