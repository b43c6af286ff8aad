# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A numeric case of an op: how to stage it, what it is run on, and what it should give."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from compiling import cpu_tensor, run
from kvern.dtype import DType
from kvern.graph import Graph, Module
from tolerances import assert_close

FLOATS = (DType.float32, DType.float64, DType.float16, DType.bfloat16)
INTS = (DType.int32, DType.int64, DType.uint8)
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, DType.bool)


@dataclass(frozen=True)
class Case:
    """One graph, run on one or more sets of arrays.

    Attributes:
        op: Name in `kvern.graph.ops`.
        label: What is special about the case.
        fn: Stages the op on tensors; returns a tensor or several.
        oracle: The same in NumPy, on arrays widened to float64 (integers and bool as they are).
        bindings: Arrays for each run.
        shapes: Types of the inputs; those of the first arrays by default.
        scale: Factor on the tolerance.
    """

    op: str
    label: str
    fn: Callable[..., Any]
    oracle: Callable[..., Any]
    bindings: Sequence[Sequence[np.ndarray]]
    shapes: Sequence[Sequence[Any]] | None = None
    scale: float = 1.0

    @property
    def id(self) -> str:
        return f"{self.op}-{self.label}"

    def build(self, name: str, module: Module) -> None:
        first = self.bindings[0]
        shapes = self.shapes or [array.shape for array in first]
        types = [
            cpu_tensor(DType.from_numpy(a.dtype), shape)
            for a, shape in zip(first, shapes, strict=True)
        ]
        with Graph(name, input_types=types, module=module) as graph:
            graph.output(*_listed(self.fn(*(value.tensor for value in graph.inputs))))

    def check(self, model: Any) -> None:
        for arrays in self.bindings:
            got = run(model, arrays)
            with np.errstate(all="ignore"):
                expected = _listed(self.oracle(*map(widened, arrays)))
            assert len(got) == len(expected)
            for one, other in zip(got, expected, strict=True):
                assert_close(one, np.asarray(other), self.scale)


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def widened(array: np.ndarray) -> np.ndarray:
    """Floats as float64; everything else as it is."""
    return array.astype(np.float64) if DType.from_numpy(array.dtype).is_float() else array


def rounded(array: Any, dtype: DType) -> np.ndarray:
    """The numbers that `dtype` has next to those of the array, as float64."""
    return np.asarray(array).astype(dtype.to_ml_dtypes()).astype(np.float64)


def sample(
    dtype: DType, shape: Sequence[int], low: float = -3, high: float = 3, seed: int = 0
) -> np.ndarray:
    """Random numbers from low to high, always the same."""
    rng = np.random.default_rng(zlib.crc32(f"{dtype}{tuple(shape)}{low}{high}{seed}".encode()))
    if dtype is DType.bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integral():
        low = max(low, 0) if dtype.is_unsigned_integral() else low
        return rng.integers(int(low), int(high) + 1, shape).astype(dtype.to_ml_dtypes())
    return rng.uniform(low, high, shape).astype(dtype.to_ml_dtypes())


def extremes(dtype: DType) -> np.ndarray:
    """Infinities, NaN, zeros, the largest and the smallest numbers."""
    kind = dtype.to_ml_dtypes()
    if dtype is DType.bool:
        return np.array([False, True])
    if dtype.is_integral():
        info = np.iinfo(kind)
        return np.array([info.min, info.max, 0, 1, info.max - 1], kind)
    import ml_dtypes

    info = ml_dtypes.finfo(kind)
    numbers = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]
    numbers += [float(info.max), float(info.min), float(info.tiny), -float(info.tiny)]
    return np.array(numbers, kind)


def per_dtype(dtypes: Sequence[DType], make: Callable[[DType], Case]) -> list[Case]:
    """A case for each dtype, labelled by it."""
    cases = [(dtype, make(dtype)) for dtype in dtypes]
    return [
        replace(case, label=f"{dtype.name}-{case.label}" if case.label else dtype.name)
        for dtype, case in cases
    ]
