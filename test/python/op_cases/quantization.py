# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with quantized weights. Blocks as an input are read as defined; as a constant they are packed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops
from kvern.graph.quantization import QuantizationConfig, QuantizationEncoding, grouped_blocks

from op_cases.case import Case, sample

ENCODINGS: dict[str, tuple[QuantizationEncoding, QuantizationConfig]] = {
    "q8_0": (QuantizationEncoding.Q8_0, QuantizationConfig("grouped", 8, 32, sym=True)),
    "q4_0": (QuantizationEncoding.Q4_0, QuantizationConfig("grouped", 4, 32, sym=True)),
    "q4_1": (QuantizationEncoding.Q4_1, QuantizationConfig("grouped", 4, 32)),
} | {
    f"{bits}-bits-by-{group}{'' if sym else '-min'}": (
        QuantizationEncoding.GROUPED,
        QuantizationConfig("grouped", bits, group, sym=sym),
    )
    for bits in (4, 8)
    for group in (32, 64, 128)
    for sym in (True, False)
}


@functools.cache
def weights(name: str, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks, and the numbers that they stand for, of an encoding: all elements, and scales 0 and below."""
    config = ENCODINGS[name][1]
    groups = (n, k // config.group_size)
    rng = np.random.default_rng(n * k)
    low = -(1 << (config.bits - 1)) if config.sym else 0
    elements = rng.integers(low, low + (1 << config.bits), (n, k))
    scales = (rng.uniform(-1, 1, groups) / (1 << config.bits)).astype(np.float16)
    scales[0] = 0
    minima = None if config.sym else rng.uniform(-1, 1, groups).astype(np.float16)
    numbers = elements * np.repeat(scales.astype(np.float64), config.group_size, axis=1)
    if minima is not None:
        numbers = numbers + np.repeat(minima.astype(np.float64), config.group_size, axis=1)
    return grouped_blocks(config, elements, scales, minima), numbers


def decoded(name: str, blocks: np.ndarray) -> np.ndarray:
    """The numbers of blocks, in float64."""
    config = ENCODINGS[name][1]
    size = config.block_parameters.block_size
    blocks = blocks.reshape(*blocks.shape[:-1], blocks.shape[-1] // size, size)
    header = 2 if config.sym else 4
    scales = np.ascontiguousarray(blocks[..., :header]).view(np.float16).astype(np.float64)
    bits = blocks[..., header:]
    if config.bits == 4:
        q = np.concatenate([bits & 15, bits >> 4], axis=-1).astype(np.float64)
        q = q - 8 if config.sym else q
    else:
        q = (bits.view(np.int8) if config.sym else bits).astype(np.float64)
    numbers = q * scales[..., :1] + (0 if config.sym else scales[..., 1:])
    return numbers.reshape(*numbers.shape[:-2], numbers.shape[-2] * numbers.shape[-1])


def _dequantize(name: str) -> Case:
    encoding, config = ENCODINGS[name]
    blocks = weights(name, 6, 2 * config.group_size)[0]
    bytes_ = blocks.shape[1]
    return Case(
        "dequantize",
        name,
        lambda blocks: ops.dequantize(encoding, blocks, config),
        lambda blocks: decoded(name, blocks),
        [
            (blocks.reshape(3, 2, bytes_),),
            (blocks[:1, None],),
            (np.zeros((0, 4, bytes_), np.uint8),),
        ],
        shapes=[["a", "b", bytes_]],
    )


def _rows(dtype: DType, counts: Sequence[int], k: int) -> list[tuple[np.ndarray]]:
    return [(sample(dtype, [m, k], -1, 1),) for m in counts]


def _packed(name: str, n: int, groups: int, dtype: DType = DType.float32) -> Case:
    """Every number of rows that tiles and their rests differ in; odd columns."""
    encoding, config = ENCODINGS[name]
    k = groups * config.group_size
    blocks, numbers = weights(name, n, k)
    return Case(
        "qmatmul",
        f"{name}-{n}x{k}-{dtype.name}",
        lambda x: ops.qmatmul(encoding, config, x, blocks),
        lambda x: x @ numbers.T,
        _rows(dtype, [0, *range(1, 21), 33, 65, 130], k),
        shapes=[["m", k]],
        scale=2,
    )


def _defined(name: str) -> Case:
    """Blocks that are no constant."""
    encoding, config = ENCODINGS[name]
    blocks, numbers = weights(name, 19, 2 * config.group_size)
    rows = _rows(DType.float32, [0, 1, 7, 33], numbers.shape[1])
    return Case(
        "qmatmul",
        f"{name}-defined",
        functools.partial(ops.qmatmul, encoding, config),
        lambda x, w: x @ decoded(name, w).T,
        [(x, blocks) for (x,) in rows],
        shapes=[["m", numbers.shape[1]], ["n", blocks.shape[1]]],
        scale=2,
    )


def _shape(label: str, shape: Sequence[int], dims: Sequence[Any]) -> Case:
    blocks, numbers = weights("q4_0", 17, 64)
    x = sample(DType.float32, shape, -1, 1)
    return Case(
        "qmatmul",
        label,
        lambda x: ops.relu(ops.qmatmul(QuantizationEncoding.Q4_0, None, x, blocks) + 1),
        lambda x: np.maximum(x @ numbers.T + 1, 0),
        [(x,)],
        shapes=[dims],
        scale=2,
    )


def _not_finite() -> Case:
    """NaN and infinities make NaN of their rows, and of nothing else."""
    blocks, numbers = weights("q8_0", 33, 160)
    x = sample(DType.float32, [5, 160], -1, 1)
    x[1, 3], x[3, 150] = np.nan, np.inf
    finite = np.isfinite(x).all(axis=1, keepdims=True)
    oracle = np.where(finite, np.nan_to_num(x), np.nan) @ numbers.T
    return Case(
        "qmatmul",
        "not-finite",
        lambda x: ops.qmatmul(QuantizationEncoding.Q8_0, None, x, blocks, activations="int8"),
        lambda x: oracle,
        [(x,)],
        scale=2000,
    )


def _empty() -> Case:
    blocks = np.zeros((3, 0), np.uint8)
    return Case(
        "qmatmul",
        "empty",
        lambda x: ops.qmatmul(QuantizationEncoding.Q8_0, None, x, blocks),
        lambda x: np.zeros((x.shape[0], 3)),
        [(np.zeros((2, 0), np.float32),)],
    )


CASES = [
    *(_dequantize(name) for name in ENCODINGS),
    *(_defined(name) for name in ENCODINGS),
    *(_packed(name, 37, 3) for name in ENCODINGS),
    *(_packed(name, n, 1) for name in ("q8_0", "q4_1") for n in (1, 16, 17, 64)),
    *(_packed("q4_0", 37, 5, dtype) for dtype in (DType.bfloat16, DType.float16)),
    _shape("vector", [64], [64]),
    _shape("batch", [2, 3, 64], ["b", "m", 64]),
    _not_finite(),
    _empty(),
]
