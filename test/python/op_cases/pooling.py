# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools against PyTorch in float64, and padding against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import ALL, FLOATS, Case, per_dtype, sample

functional = torch.nn.functional
F32 = DType.float32
_SHAPES = [(1, 7, 9, 3), (2, 8, 8, 17), (0, 9, 6, 4)]


def _pool(op: str, x: Any, options: dict[str, Any]) -> np.ndarray:
    """PyTorch's pool, whose stride is the kernel by default."""
    names = {"count_boundary": "count_include_pad"}
    arguments = {names.get(name, name): value for name, value in options.items()}
    arguments.setdefault("stride", 1)
    x = torch.from_numpy(np.asarray(x, np.float64).transpose(0, 3, 1, 2).copy())
    return getattr(functional, op)(x, **arguments).numpy().transpose(0, 2, 3, 1)


def _case(op: str, label: str, dtype: DType = F32, **options: Any) -> Case:
    return Case(
        op,
        label,
        lambda x: getattr(ops, op)(x, **options),
        lambda x: _pool(op, x, options),
        [(sample(dtype, shape),) for shape in _SHAPES if shape[3] == 3],
    )


def _symbolic(op: str, dtype: DType) -> Case:
    options = {"kernel_size": 3, "stride": 2, "padding": 1}
    return Case(
        op,
        "symbolic",
        lambda x: getattr(ops, op)(x, **options),
        lambda x: _pool(op, x, options),
        [(sample(dtype, shape),) for shape in _SHAPES],
        shapes=[["n", "h", "w", "c"]],
    )


def _asymmetric() -> Case:
    """Paddings that PyTorch does not have."""

    def oracle(x: Any) -> Any:
        padded = np.pad(x, [(0, 0), (1, 0), (0, 2), (0, 0)], constant_values=-np.inf)
        return _pool("max_pool2d", padded, {"kernel_size": 3, "stride": 2})

    return Case(
        "max_pool2d",
        "asymmetric",
        lambda x: ops.max_pool2d(x, 3, 2, padding=(1, 0, 0, 2)),
        oracle,
        [(sample(F32, (2, 8, 9, 5)),)],
    )


def _not_a_number() -> Case:
    x = sample(F32, (1, 4, 4, 2))
    x[0, 1, 1, 0], x[0, 3, 3, 1] = np.nan, -np.inf
    return Case(
        "max_pool2d",
        "nan",
        lambda x: ops.max_pool2d(x, 2, 2),
        lambda x: x.reshape(1, 2, 2, 2, 2, 2).max((2, 4)),
        [(x,)],
    )


def _integers(dtype: DType) -> Case:
    return Case(
        "max_pool2d",
        "int",
        lambda x: ops.max_pool2d(x, 2, 2, padding=(0, 0, 1, 1)),
        lambda x: (
            np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)], mode="edge")
            .reshape(1, 2, 2, 4, 2, 3)
            .max((2, 4))
        ),
        [(sample(dtype, (1, 4, 6, 3)),)],
    )


def _pad(mode: str, shapes: Sequence[Any], paddings: Sequence[int], dtype: DType = F32) -> Case:
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    value = {"value": True if dtype is DType.bool else 2} if mode == "constant" else {}
    constant = {"constant_values": value["value"]} if value else {}
    return Case(
        "pad",
        f"{mode}-{len(pairs)}",
        lambda x: ops.pad(x, paddings, mode, **value),
        lambda x: np.pad(x, pairs, mode=mode, **constant),  # pyright: ignore
        [(sample(dtype, shape),) for shape in shapes],
        shapes=[[f"d{axis}" for axis in range(len(pairs))]],
    )


CASES = [
    *(_symbolic(op, dtype) for op in ("max_pool2d", "avg_pool2d") for dtype in (F32,)),
    *per_dtype(FLOATS, lambda d: _case("max_pool2d", "", d, kernel_size=2, stride=2)),
    *per_dtype(FLOATS, lambda d: _case("avg_pool2d", "", d, kernel_size=(2, 3))),
    _case("max_pool2d", "dilated", kernel_size=3, dilation=(2, 1)),
    _case("max_pool2d", "ceil", kernel_size=2, stride=2, ceil_mode=True),
    _case("max_pool2d", "ceil-padded", kernel_size=3, stride=(2, 3), padding=1, ceil_mode=True),
    _case("max_pool2d", "ceil-late", kernel_size=2, stride=3, padding=1, ceil_mode=True),
    _case("avg_pool2d", "ceil", kernel_size=2, stride=2, ceil_mode=True),
    _case("avg_pool2d", "ceil-padded", kernel_size=3, stride=(2, 3), padding=1, ceil_mode=True),
    _case("avg_pool2d", "padded", kernel_size=3, padding=1),
    _case("avg_pool2d", "inside", kernel_size=3, padding=1, count_boundary=False),
    _case(
        "avg_pool2d",
        "ceil-inside",
        kernel_size=(2, 4),
        stride=3,
        padding=(1, 2),
        ceil_mode=True,
        count_boundary=False,
    ),
    _asymmetric(),
    _not_a_number(),
    *per_dtype((DType.int32, DType.int64, DType.uint8), _integers),
    *per_dtype(ALL, lambda d: _pad("constant", [(3, 5), (0, 2), (1, 0)], (1, 0, 2, 3), d)),
    _pad("reflect", [(4, 5, 3), (3, 9, 4)], (2, 1, 0, 3, 2, 2)),
    _pad("edge", [(1, 5, 3), (2, 1, 4)], (5, 1, 0, 3, 1, 2)),
    *per_dtype((DType.bfloat16, DType.bool), lambda d: _pad("edge", [(2, 5)], (1, 3, 0, 2), d)),
]
