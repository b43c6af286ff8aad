# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and rotary positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import ops

from op_cases.case import FLOATS, Case, per_dtype, sample

F32 = DType.float32


def visible(variant: str, window: int, queries: int, keys: int) -> np.ndarray:
    """Which keys each query sees, `[queries, keys]`."""
    p = np.arange(queries)[:, None] + keys - queries
    j = np.arange(keys)[None]
    masks = {
        "null": j >= 0,
        "causal": j <= p,
        "sliding_window_causal": (j <= p) & (p - j < window),
        "sliding_window_noncausal": np.abs(p - j) < window,
        "chunked_causal": (j <= p) & (j // max(window, 1) == p // max(window, 1)),
    }
    return np.broadcast_to(masks[variant], (queries, keys))


def reference(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = 0.0,
    *,
    scale: float | None = None,
    variant: str = "null",
    window: int = -1,
    sinks: Any = None,
    softcap: float = 0.0,
) -> np.ndarray:
    """Attention of `[batch, rows, heads, size]`, by its definition."""
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bihd,bjhd->bhij", q, k) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    seen = visible(variant, window, q.shape[1], k.shape[1])
    scores = np.where(seen, scores + mask, -np.inf)
    if sinks is not None:
        sink = np.broadcast_to(sinks[None, :, None, None], (*scores.shape[:3], 1))
        scores = np.concatenate([scores, sink], -1)
    largest = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(largest), 0.0, largest))
    total = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
    return np.einsum("bhij,bjhd->bihd", weights[..., : k.shape[1]], v)


def ragged_reference(q: Any, k: Any, v: Any, rows: Any, keys: Any, **options: Any) -> np.ndarray:
    """The same, sequence by sequence."""
    result = np.zeros((*q.shape[:2], v.shape[-1]))
    for b in range(len(rows) - 1):
        own, others = slice(rows[b], rows[b + 1]), slice(keys[b], keys[b + 1])
        result[own] = reference(q[None, own], k[None, others], v[None, others], **options)[0]
    return result


def rotated(x: Any, table: Any, positions: Any, interleaved: bool) -> np.ndarray:
    """x of `[..., heads, size]` at positions `[...]`."""
    width = table.shape[1]
    cosine, sine = (table[positions][..., None, i::2] for i in (0, 1))
    pairs = (slice(0, width, 2), slice(1, width, 2))
    if not interleaved:
        pairs = (slice(0, width // 2), slice(width // 2, width))
    result = x.copy()
    a, b = x[..., pairs[0]], x[..., pairs[1]]
    result[..., pairs[0]] = a * cosine - b * sine
    result[..., pairs[1]] = a * sine + b * cosine
    return result


def qkv(
    dtype: DType,
    batch: int,
    queries: int,
    keys: int,
    heads: tuple[int, int],
    sizes: tuple[int, int],
) -> list[np.ndarray]:
    shapes = [
        (batch, queries, heads[0], sizes[0]),
        (batch, keys, heads[1], sizes[0]),
        (batch, keys, heads[1], sizes[1]),
    ]
    return [sample(dtype, shape, -2, 2, seed) for seed, shape in enumerate(shapes)]


# Batch, queries, keys: one row, few rows, a block and more, chunks, nothing to see, nothing at all.
_LENGTHS = [(1, 1, 1), (2, 1, 70), (1, 3, 5), (1, 4, 300), (2, 67, 67), (1, 130, 40), (1, 2, 0)]
_LENGTHS += [(1, 40, 0), (0, 2, 2), (1, 0, 3)]


def _attention(
    label: str,
    dtype: DType,
    heads: tuple[int, int],
    sizes: tuple[int, int],
    lengths: list[tuple[int, int, int]] = _LENGTHS,
    variant: str = "null",
    window: int = -1,
    **options: Any,
) -> Case:
    named = {"mask_variant": variant, "local_window_size": window}
    return Case(
        "attention",
        label,
        lambda q, k, v: ops.attention(q, k, v, **named, **options),
        lambda q, k, v: reference(q, k, v, variant=variant, window=window, **options),
        [qkv(dtype, *length, heads, sizes) for length in lengths],
        shapes=[["b", "n", heads[0], sizes[0]], *(["b", "m", heads[1], size] for size in sizes)],
    )


def _variants() -> list[Case]:
    cases = {"causal": -1, "sliding_window_causal": 9, "sliding_window_noncausal": 5}
    cases["chunked_causal"] = 16
    return [
        _attention(variant, F32, (4, 2), (16, 16), variant=variant, window=window)
        for variant, window in cases.items()
    ]


def _operands(label: str, shape: list[Any], dtype: DType = F32) -> Case:
    """With an added mask and sinks."""
    lengths = [(2, 1, 70), (1, 40, 40), (2, 19, 150)]
    bindings = []
    for b, n, m in lengths:
        named = {"b": b, "n": n, "m": m}
        sizes = [named[size] if size in named else int(size) for size in shape]
        mask = sample(dtype, sizes, -3, 3, 7)
        if dtype is F32:
            mask[mask > 2] = -np.inf
        bindings.append((*qkv(F32, b, n, m, (6, 3), (24, 40)), mask, sample(F32, [6], seed=8)))

    def oracle(q: Any, k: Any, v: Any, mask: Any, sinks: Any) -> np.ndarray:
        added = np.where(mask, 0.0, -np.inf) if dtype is DType.bool else mask
        return reference(q, k, v, added, sinks=sinks, softcap=2.0, scale=0.3)

    return Case(
        "attention",
        label,
        lambda q, k, v, m, s: ops.attention(q, k, v, m, sinks=s, softcap=2.0, scale=0.3),
        oracle,
        bindings,
        shapes=[["b", "n", 6, 24], ["b", "m", 3, 24], ["b", "m", 3, 40], shape, [6]],
    )


def _large() -> Case:
    """Scores that overflow an exponential, and keys that are all masked."""
    q, k, v = qkv(F32, 1, 33, 70, (2, 2), (64, 64))
    mask = np.zeros((33, 70), np.float32)
    mask[:9] = -np.inf
    mask[9:20, :60] = -np.inf
    mask[20:, 5] = -1e30
    return Case(
        "attention",
        "extremes",
        lambda q, k, v, m: ops.attention(q, k, v, m, scale=40.0),
        lambda q, k, v, m: reference(q, k, v, m, scale=40.0),
        [(q, k, v, mask), (q[:, :1], k, v, mask[:1]), (q[:, :1], k, v, mask[9:10])],
        shapes=[[1, "n", 2, 64], [1, 70, 2, 64], [1, 70, 2, 64], ["n", 70]],
        scale=200,
    )


def _ragged(dtype: DType) -> Case:
    """Sequences without queries or keys, of one row, and of many."""
    rows = np.array([0, 0, 1, 4, 4, 104], np.uint32)
    keys = np.array([0, 7, 200, 203, 206, 306], np.uint32)
    bindings = []
    for a, c in ((rows, keys), (rows[:2], keys[:2]), (rows[:1], keys[:1])):
        q, k, v = (x[0] for x in qkv(dtype, 1, int(a[-1]), int(c[-1]), (4, 2), (24, 16)))
        bindings.append((q, k, v, a, c))
    return Case(
        "ragged_attention",
        "",
        lambda *operands: ops.ragged_attention(*operands),
        lambda *operands: ragged_reference(*operands, variant="causal"),
        bindings,
        shapes=[["t", 4, 24], ["u", 2, 24], ["u", 2, 16], ["o"], ["o"]],
    )


def _rope(dtype: DType) -> Case:
    bindings = []
    for shape in [(2, 5, 3, 40), (1, 37, 2, 40), (0, 3, 1, 40)]:
        positions = np.arange(np.prod(shape[:2])).reshape(shape[:2]) % 80 - 40
        bindings.append((sample(dtype, shape), sample(F32, [40, 24], -1, 1), positions))
    return Case(
        "rope",
        "",
        lambda x, t, p: [
            ops.rope(x, t, *more, interleaved=order)
            for order in (True, False)
            for more in ((), (p,))
        ],
        lambda x, t, p: [
            rotated(x, t, where, order)
            for order in (True, False)
            for where in (np.broadcast_to(np.arange(x.shape[1]), x.shape[:2]), p)
        ],
        bindings,
        shapes=[["b", "n", "h", 40], ["r", 24], ["b", "n"]],
    )


CASES = [
    *per_dtype(FLOATS, lambda dtype: _attention("", dtype, (4, 2), (40, 40))),
    _attention("one-head", F32, (1, 1), (16, 16), variant="causal"),
    _attention("shared", F32, (20, 1), (64, 33)),
    _attention("odd", F32, (3, 3), (7, 5), variant="causal"),
    *_variants(),
    _operands("operands", ["b", 6, "n", "m"]),
    _operands("row-mask", ["b", 1, 1, "m"]),
    _operands("column-mask", ["n", 1]),
    _operands("bool-mask", ["n", "m"], DType.bool),
    _large(),
    *per_dtype(FLOATS, _ragged),
    *per_dtype(FLOATS, _rope),
]
