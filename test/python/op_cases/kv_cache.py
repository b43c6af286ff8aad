# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on caches in pages; graph/test_kv_cache.py has the element types, masks and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import BufferValue, DeviceRef, PagedCacheValue, TensorValue, ops

from op_cases.attention import reference, rotated
from op_cases.buffer import BufferCase
from op_cases.case import sample

F32 = DType.float32
HEADS, HEAD_DIM, PAGE = 2, 16, 4
# Two sequences, with 3 and 0 tokens in the cache, get 3 and 2 more.
CACHED, OFFSETS = np.array([3, 0], np.uint32), np.array([0, 3, 5], np.uint32)
TABLE = np.array([[4, 1], [2, 99]], np.uint32)
COUNTED = np.array([3], np.uint32)
LAYER = 1


def _rows(heads: int = HEADS, size: int = HEAD_DIM, seed: int = 0) -> np.ndarray:
    return sample(F32, [5, heads, size], seed=seed)


def _memory(sides: int = 2) -> np.ndarray:
    heads = HEADS if sides == 2 else 1
    return sample(F32, [5, sides, 2, PAGE, heads, HEAD_DIM], seed=9)


def _cache(blocks: BufferValue, tables: list[TensorValue]) -> PagedCacheValue:
    lengths, table, bound = tables
    return ops.paged_cache(blocks, lengths, table, bound, bound)


def _layer() -> TensorValue:
    return ops.constant(LAYER, DType.uint32, DeviceRef.CPU())


def _place(sequence: int, position: int) -> tuple[int, int]:
    return int(TABLE[sequence, position // PAGE]), position % PAGE


def _store(memory: Any, *sides: Any) -> None:
    for row in range(5):
        sequence = int(row >= 3)
        page, place = _place(sequence, int(CACHED[sequence]) + row - int(OFFSETS[sequence]))
        for side, rows in enumerate(sides):
            memory[page, side, LAYER, place] = rows[row]


def _read(memory: Any, side: int, sequence: int) -> np.ndarray:
    places = [_place(sequence, p) for p in range([6, 2][sequence])]
    return np.stack([memory[page, side, LAYER, at] for page, at in places]).astype(np.float64)


def _attend(memory: Any, q: Any, value_dim: int = 0) -> list[np.ndarray]:
    found = []
    for sequence, own in enumerate((q[:3], q[3:])):
        k = _read(memory, 0, sequence)
        v = k[..., :value_dim] if value_dim else _read(memory, 1, sequence)
        own = own[None].astype(np.float64)
        found.append(reference(own, k[None], v[None], variant="causal")[0])
    return [np.concatenate(found)]


def _case(op: str, fn: Any, oracle: Any, *arrays: Any, sides: int = 2) -> BufferCase:
    """fn gets the cache, the offsets and the other inputs; the oracle the memory and those."""

    def build(blocks: BufferValue, *inputs: TensorValue) -> list[TensorValue]:
        return fn(_cache(blocks, list(inputs[:3])), inputs[3], *inputs[4:]) or []

    def check(memory: Any, *inputs: Any) -> list[Any]:
        return oracle(memory, *inputs[4:]) or []

    tables = (CACHED, TABLE, COUNTED, OFFSETS)
    return BufferCase(op, "pages", build, check, [(_memory(sides), *tables, *arrays)])


def _rope_oracle(memory: Any, q: Any, k: Any, v: Any, freqs: Any) -> list[Any]:
    places = np.array([3, 4, 5, 0, 1])
    _store(memory, rotated(k, freqs, places, True), v)
    return [rotated(q, freqs, places, True)]


def _project_oracle(memory: Any, x: Any, weight: Any, bias: Any) -> list[Any]:
    rows = (x @ weight.T + bias).reshape(5, 8, HEAD_DIM)
    _store(memory, rows[:, 4:6], rows[:, 6:])
    return [rows[:, :4]]


def _latent_oracle(memory: Any, q: Any, kv_b: Any) -> list[Any]:
    latent, value_dim = 12, 6
    parts = kv_b.reshape(4, 8 + value_dim, latent).astype(np.float64)
    found = []
    for sequence, own in enumerate((q[:3], q[3:])):
        rows = _read(memory, 0, sequence)[:, 0]
        both = np.einsum("tc,hec->the", rows[:, :latent], parts)
        shared = np.repeat(rows[:, None, latent:], 4, 1)
        k = np.concatenate([both[..., :8], shared], -1)
        v = both[..., 8:]
        own = own[None].astype(np.float64)
        found.append(reference(own, k[None], v[None], variant="causal")[0])
    return [np.concatenate(found)]


def _copy_oracle(memory: Any, source: Any, destination: Any) -> list[Any]:
    memory[destination] = memory[source]
    return []


def _copy(blocks: BufferValue, source: TensorValue, destination: TensorValue) -> list[TensorValue]:
    ops.kv_copy_pages(blocks, blocks, source, destination)
    return []


_STORE = (
    lambda cache, offsets, k, v: ops.kv_store(cache, _layer(), offsets, k, v),
    _store,
    _rows(),
    _rows(seed=1),
)

CASES = [
    _case("paged_cache", *_STORE),
    _case("kv_store", *_STORE),
    _case(
        "rope_store",
        lambda cache, offsets, q, k, v, freqs: [
            ops.rope_store(q, k, v, offsets, freqs, cache, _layer())
        ],
        _rope_oracle,
        _rows(4),
        _rows(seed=1),
        _rows(seed=2),
        sample(F32, [8, 8], seed=3),
    ),
    _case(
        "qkv_project_store",
        lambda cache, offsets, x, weight, bias: [
            ops.qkv_project_store(x, offsets, weight, cache, _layer(), heads=4, bias=bias)
        ],
        _project_oracle,
        sample(F32, [5, 24]),
        sample(F32, [8 * HEAD_DIM, 24], seed=1),
        sample(F32, [8 * HEAD_DIM], seed=2),
    ),
    _case(
        "paged_attention",
        lambda cache, offsets, q: [ops.paged_attention(q, offsets, cache, _layer())],
        _attend,
        _rows(4),
    ),
    _case(
        "latent_attention",
        lambda cache, offsets, q, kv_b: [
            ops.latent_attention(q, offsets, cache, _layer(), kv_b, value_dim=6)
        ],
        _latent_oracle,
        _rows(4, 12),
        sample(F32, [4 * 14, 12], seed=1),
        sides=1,
    ),
    BufferCase(
        "kv_copy_pages",
        "pages",
        _copy,
        _copy_oracle,
        [(_memory(), np.array([3, 0, 3], np.uint32), np.array([1, 2, 4], np.uint32))],
    ),
]
