# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over pages where sequences are long, and where sizes are odd."""

from __future__ import annotations

import numpy as np
import pytest
from graph.paged import CPU, U32, Cache, attend, bundle, offsets_of
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import Dim, Graph, TensorType, ops

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
