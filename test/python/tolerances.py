# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far results may be from a float64 oracle: the one table, by dtype."""

from __future__ import annotations

import numpy as np
from kvern.dtype import DType

# The error allowed where the largest expected number is 1. Integers and bool are exact.
TOLERANCE = {
    DType.float64: 1e-12,
    DType.float32: 1e-5,
    DType.float16: 2e-3,
    DType.bfloat16: 1.6e-2,
}


def assert_close(got: np.ndarray, expected: np.ndarray, scale: float = 1.0) -> None:
    """Checks dtype-exact shapes and values.

    Args:
        got: The result; its dtype gives the tolerance.
        expected: The oracle's numbers, of any dtype; they are rounded to that of the result first.
        scale: Factor on the tolerance, for results with a large condition number.
    """
    dtype = DType.from_numpy(got.dtype)
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    if dtype not in TOLERANCE:
        np.testing.assert_array_equal(got, expected.astype(got.dtype))
        return
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected.astype(got.dtype).astype(np.float64)
    got = got.astype(np.float64)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    with np.errstate(invalid="ignore"):
        error = np.abs(got - rounded)
    allowed = TOLERANCE[dtype] * scale * np.maximum(1.0, np.abs(rounded))
    wrong = ~same & ~(finite & (error <= allowed))
    if wrong.any():
        places = np.argwhere(wrong)[:5]
        shown = [
            f"{tuple(p)}: got {got[tuple(p)]!r}, expected {rounded[tuple(p)]!r}" for p in places
        ]
        raise AssertionError(f"{wrong.sum()} of {wrong.size} differ: " + "; ".join(shown))
