# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: typed computations, staged in Python and compiled by `kvern.engine`.

Importing the package loads no MLIR; the first graph, or arithmetic on named dims, does.
"""

from __future__ import annotations

from kvern.graph.debug import GraphDebugConfig
from kvern.graph.device import DeviceKind, DevicePlacementPolicy, DeviceRef
from kvern.graph.dim import AlgebraicDim, Dim, DimLike, StaticDim, SymbolicDim
from kvern.graph.kernel_library import KernelLibrary, default_custom_extensions
from kvern.graph.module import Module
from kvern.graph.shape import Shape, ShapeLike
from kvern.graph.type import (
    BufferType,
    ConvInputLayout,
    FilterLayout,
    PagedCacheType,
    TensorType,
    Type,
)
from kvern.graph.value import (
    BufferValue,
    BufferValueLike,
    HasBufferValue,
    HasTensorValue,
    PagedCacheValue,
    TensorValue,
    TensorValueLike,
    Value,
)

from kvern.graph.graph import Graph  # isort: skip  (needs the values)
from kvern.graph.sharding import ShardingStrategy  # isort: skip
from kvern.graph.weight import Weight  # isort: skip
from kvern.graph import ops, quantization  # isort: skip

__all__ = [
    "AlgebraicDim",
    "BufferType",
    "BufferValue",
    "BufferValueLike",
    "ConvInputLayout",
    "DeviceKind",
    "DevicePlacementPolicy",
    "DeviceRef",
    "Dim",
    "DimLike",
    "FilterLayout",
    "Graph",
    "GraphDebugConfig",
    "HasBufferValue",
    "HasTensorValue",
    "KernelLibrary",
    "Module",
    "PagedCacheType",
    "PagedCacheValue",
    "Shape",
    "ShapeLike",
    "ShardingStrategy",
    "StaticDim",
    "SymbolicDim",
    "TensorType",
    "TensorValue",
    "TensorValueLike",
    "Type",
    "Value",
    "Weight",
    "default_custom_extensions",
    "ops",
    "quantization",
]
