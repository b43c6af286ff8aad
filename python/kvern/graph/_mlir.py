# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one MLIR context of the process, made when something first needs it."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass
from typing import Any

from kvern.dtype import DType
from kvern.interrupts import uninterrupted

__all__ = ["Bindings", "bindings"]


@dataclass(frozen=True)
class Bindings:
    """What the package uses of `kvern._mlir`.

    Attributes:
        ir: MLIR's core bindings.
        func: The func dialect.
        ext: Attributes and types of the kvern dialect, and the compiler.
        context: The context that holds all graphs.
        ops: Builder of each op, by its name (`"matmul"`).
        element_types: Element type of each DType.
        dtypes: DType of each element type.
    """

    ir: Any
    func: Any
    ext: Any
    context: Any
    ops: dict[str, Any]
    element_types: dict[DType, Any]
    dtypes: dict[Any, DType]


_lock = threading.Lock()
_bindings: Bindings | None = None


def bindings() -> Bindings:
    """Returns the bindings; loads them on the first call."""
    global _bindings
    if _bindings is None:
        with _lock:
            if _bindings is None:
                # Native modules that Ctrl-C stops as they are made end the process.
                with uninterrupted():
                    _bindings = _load()
    return _bindings


def _load() -> Bindings:
    # Their names come from C++, where no type checker sees them.
    def load(name: str) -> Any:
        return importlib.import_module(f"kvern._mlir.{name}")

    ir, ext = load("ir"), load("_mlir_libs._kvern")
    func, kvern = load("dialects.func"), load("dialects.kvern")

    context = ir.Context()
    prefix = "kvern."
    ops = {
        cls.OPERATION_NAME.removeprefix(prefix): cls
        for cls in vars(kvern).values()
        if isinstance(cls, type) and str(getattr(cls, "OPERATION_NAME", "")).startswith(prefix)
    }
    with context:
        signless, unsigned = ir.IntegerType.get_signless, ir.IntegerType.get_unsigned
        element_types = {
            DType.bool: signless(1),
            DType.float4_e2m1fn: ir.Float4E2M1FNType.get(),
            DType.float8_e8m0fnu: ir.Float8E8M0FNUType.get(),
            DType.float8_e4m3fn: ir.Float8E4M3FNType.get(),
            DType.float8_e4m3fnuz: ir.Float8E4M3FNUZType.get(),
            DType.float8_e5m2: ir.Float8E5M2Type.get(),
            DType.float8_e5m2fnuz: ir.Float8E5M2FNUZType.get(),
            DType.float16: ir.F16Type.get(),
            DType.bfloat16: ir.BF16Type.get(),
            DType.float32: ir.F32Type.get(),
            DType.float64: ir.F64Type.get(),
        }
        for bits in (8, 16, 32, 64):
            element_types[DType[f"int{bits}"]] = signless(bits)
            element_types[DType[f"uint{bits}"]] = unsigned(bits)
    dtypes = {element_type: dtype for dtype, element_type in element_types.items()}
    return Bindings(ir, func, ext, context, ops, element_types, dtypes)
