# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs, binds weights and runs models."""

from __future__ import annotations

from kvern.engine.compile_report import CompileReport, PartReport
from kvern.engine.compiled import CompiledModel
from kvern.engine.memory import MemoryPlan
from kvern.engine.model import Model
from kvern.engine.report import KernelReport, Report
from kvern.engine.session import (
    CustomExtensionsType,
    GPUProfilingMode,
    InferenceSession,
    LogLevel,
)
from kvern.engine.spec import TensorSpec

__all__ = [
    "CompileReport",
    "CompiledModel",
    "CustomExtensionsType",
    "GPUProfilingMode",
    "InferenceSession",
    "KernelReport",
    "LogLevel",
    "MemoryPlan",
    "Model",
    "PartReport",
    "Report",
    "TensorSpec",
]
