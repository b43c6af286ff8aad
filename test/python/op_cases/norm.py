# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import FLOATS, Case, per_dtype, sample

_SHAPES = [(1, 1, 1), (2, 3, 37), (0, 3, 5), (3, 1, 64)]


def _rms(x: Any, w: Any, eps: float, offset: float = 0.0) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * (w + offset)


def _layer(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * gamma + beta


def _weights(dtype: DType, shape: Any, count: int) -> list[np.ndarray]:
    return [sample(dtype, shape[-1:], 0.5, 1.5, seed=seed) for seed in range(1, count + 1)]


def _case(
    op: str,
    label: str,
    fn: Callable[..., Any],
    oracle: Callable[..., Any],
    dtype: DType,
    weights: int,
) -> Case:
    return Case(
        op,
        label,
        fn,
        oracle,
        [(sample(dtype, s), *_weights(dtype, s, weights)) for s in _SHAPES],
        shapes=[["a", "b", "c"]] + [["c"]] * weights,
    )


def _rms_norm(dtype: DType) -> Case:
    return _case(
        "rms_norm",
        "",
        lambda x, w: ops.rms_norm(x, w, 1e-6),
        lambda x, w: _rms(x, w, 1e-6),
        dtype,
        1,
    )


def _rms_norm_gemma(dtype: DType) -> Case:
    return _case(
        "rms_norm",
        "offset",
        lambda x, w: ops.rms_norm(x, w, 1e-5, 1.0, True),
        lambda x, w: _rms(x, w, 1e-5, 1.0),
        dtype,
        1,
    )


def _layer_norm(dtype: DType) -> Case:
    return _case(
        "layer_norm",
        "",
        lambda x, g, b: ops.layer_norm(x, g, b, 1e-5),
        lambda x, g, b: _layer(x, g, b, 1e-5),
        dtype,
        2,
    )


def _static(dtype: DType) -> Case:
    arrays = (sample(dtype, [5, 384], -9, 9), *_weights(dtype, [384], 2))
    return Case(
        "layer_norm",
        "static",
        lambda x, g, b: ops.layer_norm(x, g, b, 1e-12),
        lambda x, g, b: _layer(x, g, b, 1e-12),
        [arrays],
    )


def _large_mean() -> Case:
    """A mean far above the deviation: one-pass variances cancel here."""
    x = sample(DType.float32, [3, 64], -1, 1) + np.float32(1000)
    arrays = (x, *_weights(DType.float32, [64], 2))
    return Case(
        "layer_norm",
        "large-mean",
        lambda x, g, b: ops.layer_norm(x, g, b, 1e-5),
        lambda x, g, b: _layer(x, g, b, 1e-5),
        [arrays],
        scale=50,
    )


CASES = [
    *per_dtype(FLOATS, _rms_norm),
    *per_dtype(FLOATS, _rms_norm_gemma),
    *per_dtype(FLOATS, _layer_norm),
    *per_dtype((DType.float32, DType.float64), _static),
    _large_mean(),
]
