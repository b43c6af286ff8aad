# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs, binds weights and runs models."""

from __future__ import annotations

from kvern.engine.compiled import CompiledModel
from kvern.engine.model import Model
from kvern.engine.session import (
    CustomExtensionsType,
    GPUProfilingMode,
    InferenceSession,
    LogLevel,
)
from kvern.engine.spec import TensorSpec

__all__ = [
    "CompiledModel",
    "CustomExtensionsType",
    "GPUProfilingMode",
    "InferenceSession",
    "LogLevel",
    "Model",
    "TensorSpec",
]
