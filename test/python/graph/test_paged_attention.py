# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over pages where sequences are long, and where sizes are odd."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from graph.paged import CPU, U32, Cache, attend, bundle, offsets_of
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model
from kvern.graph import BufferType, Dim, Graph, TensorType, ops

F32 = DType.float32
# Several chunks of keys for a few rows, several blocks of rows, and no tokens at all.
LENGTHS, COUNTS = [1500, 0, 1, 700, 130, 5], [1, 0, 1, 300, 7, 5]


@pytest.mark.parametrize(
    ("page_size", "heads", "kv_heads", "head_dim", "mask", "window"),
    [
        (1, 4, 4, 12, "causal", -1),
        (3, 6, 2, 80, "sliding_window_causal", 37),
        (16, 9, 3, 64, "chunked_causal", 100),
        (128, 2, 1, 96, "null", -1),
    ],
)
def test_long_and_odd(
    page_size: int, heads: int, kv_heads: int, head_dim: int, mask: str, window: int
) -> None:
    rng = np.random.default_rng(0)
    cache = Cache(LENGTHS, kv_heads, head_dim, page_size=page_size)
    cache.blocks[...] = rng.standard_normal(cache.blocks.shape)
    q = TensorType(F32, ["tokens", heads, head_dim], CPU)
    types = [q, TensorType(U32, [Dim("batch") + 1], CPU), TensorType(U32, [], CPU)]
    with Graph("step", input_types=[*types, *cache.types()]) as graph:
        q, offsets, layer = [value.tensor for value in graph.inputs[:3]]
        value = bundle(list(graph.inputs[3:]))
        graph.output(
            ops.paged_attention(
                q, offsets, value, layer, mask_variant=mask, local_window_size=window
            )
        )
    offsets = offsets_of(COUNTS)
    q = rng.standard_normal((sum(COUNTS), heads, head_dim)).astype(np.float32)
    before = [length - count for length, count in zip(LENGTHS, COUNTS, strict=True)]
    results = []
    for threads in (1, 3):
        model = InferenceSession(num_threads=threads).load(graph)
        inputs = [q, offsets, np.uint32(1), *cache.values(before)]
        results.append(model.execute(*inputs)[0].to_numpy().copy())
        empty = model.execute(q[:0], offsets * 0, *inputs[2:])[0].to_numpy()
        assert empty.shape == (0, heads, head_dim)
    np.testing.assert_array_equal(results[0], results[1])
    wanted = attend(cache, q, COUNTS, 1, variant=mask, window=max(window, 0))
    np.testing.assert_allclose(results[0], wanted, rtol=2e-4, atol=2e-5)


@functools.cache
def model_with_signed_tables() -> Model:
    """Stores and attention whose tables are of int64, over a cache of numbers and one of int8."""
    i64, f32 = DType.int64, DType.float32
    types = [
        TensorType(f32, ["tokens", 4, 16], CPU),
        TensorType(f32, ["tokens", 2, 16], CPU),
        TensorType(i64, [Dim("batch") + 1], CPU),
        TensorType(i64, [], CPU),
        TensorType(i64, ["batch"], CPU),
        TensorType(i64, ["batch", "most"], CPU),
        TensorType(i64, [1], CPU),
        BufferType(f32, ["pages", 2, 2, 16, 2, 16], CPU),
        BufferType(DType.int8, ["pages", 2, 2, 16, 2, 16], CPU),
        BufferType(f32, ["pages", 2, 2, 16, 2, 1], CPU),
    ]
    with Graph("signed", input_types=types) as graph:
        q, k, offsets, layer, *tables = [value.tensor for value in graph.inputs[:7]]
        blocks, codes, scales = [value.buffer for value in graph.inputs[7:]]
        freqs = ops.constant(np.ones((8, 16), np.float32), f32, CPU)
        results = []
        for memory, factors in ((blocks, None), (codes, scales)):
            cache = ops.paged_cache(memory, *tables, tables[-1], factors)
            ops.kv_store(cache, layer, offsets, k, k)
            turned = ops.rope_store(q, k, k, offsets, freqs, cache, layer)
            results.append(ops.paged_attention(turned, offsets, cache, layer))
        graph.output(*results)
    return InferenceSession().load(graph)


@pytest.mark.parametrize("bad", ["table", "lengths", "offsets", "layer"])
@pytest.mark.parametrize("number", [-1, -3, -(10**6), -(2**63)])
def test_negative_numbers_stay_in_the_cache(bad: str, number: int) -> None:
    """As large ones do; the memory lies between pages that may not be touched."""
    values = {"table": [[0, 1], [2, 1]], "lengths": [0, 17], "offsets": [0, 3, 5], "layer": 0}
    arrays = {name: np.array(value, np.int64) for name, value in values.items()}
    arrays[bad][...] = number
    shape = [3, 2, 2, 16, 2, 16]
    results = model_with_signed_tables().execute(
        np.ones((5, 4, 16), np.float32),
        np.ones((5, 2, 16), np.float32),
        *(arrays[name] for name in ("offsets", "layer", "lengths", "table")),
        np.array([3], np.int64),
        Buffer.zeros(shape, DType.float32),
        Buffer.zeros(shape, DType.int8),
        Buffer.zeros([*shape[:-1], 1], DType.float32),
    )
    assert [list(result.shape) for result in results] == [[5, 4, 16]] * 2
