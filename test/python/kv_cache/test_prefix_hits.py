# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real attention over pages of the manager: hits, forks and pages from the host give the bits of a cold run."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from compiling import session
from kvern.dtype import DType
from kvern.graph import DeviceRef, Dim, Graph, TensorType, ops
from kvern.kv_cache import PagedKVCacheManager, TextContext
from kvern.nn.kv_cache import MHAKVCacheParams

HEADS, KV_HEADS, HEAD_DIM, LAYERS = 4, 2, 8, 2
CPU = DeviceRef.CPU()
TABLE = np.random.default_rng(0).normal(size=(16, HEADS * HEAD_DIM)).astype(np.float32)


def params(**options: Any) -> MHAKVCacheParams:
    options = {"n_kv_heads": KV_HEADS, "page_size": 4, **options}
    return MHAKVCacheParams(DType.float32, HEAD_DIM, LAYERS, [CPU], **options)


@functools.cache
def model(window: int = -1) -> Any:
    """Rows of tokens to rows: each layer's keys depend on the attention of the layer before."""
    mask = "causal" if window < 0 else "sliding_window_causal"
    kv_types = params().get_symbolic_inputs()
    rows = TensorType(DType.float32, ["total_seq_len", HEADS, HEAD_DIM], CPU)
    offsets = TensorType(DType.uint32, [Dim("batch_size") + 1], CPU)
    with Graph("attention", input_types=[rows, offsets, *kv_types.flatten()]) as graph:
        x, row_offsets = graph.inputs[0].tensor, graph.inputs[1].tensor
        (values,) = kv_types.unflatten(iter(graph.inputs[2:])).inputs
        cache = values.as_value()
        for index in range(LAYERS):
            layer = ops.constant(index, DType.uint32, CPU)
            ops.kv_store(cache, layer, row_offsets, x[:, :KV_HEADS], x[:, KV_HEADS:])
            x = x + ops.paged_attention(
                x, row_offsets, cache, layer, mask_variant=mask, local_window_size=window
            )
        graph.output(x)
    return session().load(graph)


def run(
    manager: PagedKVCacheManager, batch: Sequence[TextContext], window: int = -1
) -> list[np.ndarray]:
    """One step; the rows of each request."""
    tokens = np.concatenate([context.next_tokens for context in batch])
    lengths = [context.active_length for context in batch]
    offsets = np.cumsum([0, *lengths]).astype(np.uint32)
    inputs = manager.runtime_inputs([list(batch)]).flatten()
    rows = TABLE[tokens].reshape(-1, HEADS, HEAD_DIM)
    out = np.array(model(window).execute(rows, offsets, *inputs)[0].to_numpy())
    for context in batch:
        context.update()
    manager.step([list(batch)])
    return [out[a:b] for a, b in itertools.pairwise(offsets)]


def start(manager: PagedKVCacheManager, name: str, tokens: Sequence[int]) -> TextContext:
    manager.claim(name)
    context = TextContext(name, tokens)
    manager.alloc(context)
    return context


def cold(tokens: Sequence[int], *chunks: int) -> np.ndarray:
    """The rows of a request that is alone, in steps of so many tokens and one of the rest."""
    manager = PagedKVCacheManager(params(), None, 16, max_batch_size=1)
    context, rows = start(manager, "cold", tokens), []
    for count in [*chunks, len(tokens) - sum(chunks)]:
        context.active_length = count
        rows += run(manager, [context])
    return np.concatenate(rows)


PROMPTS = [list(np.random.default_rng(seed).integers(0, 16, 14)) for seed in range(3)]


@pytest.mark.parametrize("host_pages", [0, 8])
def test_a_hit_has_the_bits_of_a_cold_run(host_pages: int):
    manager = PagedKVCacheManager(
        params(enable_prefix_caching=True), None, 12, host_pages, True, max_batch_size=4
    )
    first = start(manager, "first", PROMPTS[0])
    assert np.array_equal(run(manager, [first])[0], cold(PROMPTS[0]))
    manager.release("first")
    if host_pages:
        # Everything on the device is evicted.
        other = start(manager, "other", np.arange(48) % 16)
        run(manager, [other])
        manager.release("other")
    second = start(manager, "second", PROMPTS[0] + PROMPTS[1])
    assert second.processed_length == 12
    assert manager.metrics.h2d_blocks_copied == (3 if host_pages else 0)
    assert np.array_equal(run(manager, [second])[0], cold(PROMPTS[0] + PROMPTS[1])[12:])


def test_batches_chunks_and_forks_have_the_bits_of_a_cold_run_of_the_same_steps():
    manager = PagedKVCacheManager(
        params(enable_prefix_caching=True), None, 24, 0, True, max_batch_size=4
    )
    seed = start(manager, "seed", PROMPTS[0][:6])
    run(manager, [seed])
    manager.fork("seed", "branch")
    branch = TextContext("branch", PROMPTS[0][:6] + PROMPTS[1])
    branch.processed_length = seed.processed_length
    chunked = start(manager, "chunked", PROMPTS[2])
    rest = start(manager, "rest", PROMPTS[0])
    assert rest.processed_length == 4
    manager.alloc(branch)
    chunked.active_length = 5
    branched, some, rested = run(manager, [branch, chunked, rest])
    (more,) = run(manager, [chunked])
    assert np.array_equal(branched, cold(PROMPTS[0][:6] + PROMPTS[1], 6)[6:])
    assert np.array_equal(np.concatenate([some, more]), cold(PROMPTS[2], 5))
    assert np.array_equal(rested, cold(PROMPTS[0], 4)[4:])


@pytest.mark.parametrize("suffix", [1, 3, 9])
def test_short_rests_have_the_bits_of_a_cold_run_of_the_same_steps(suffix: int):
    manager = PagedKVCacheManager(
        params(enable_prefix_caching=True), None, 24, 0, True, max_batch_size=4
    )
    run(manager, [start(manager, "first", PROMPTS[0][:12])])
    tokens = PROMPTS[0][:12] + PROMPTS[1][:suffix]
    second = start(manager, "second", tokens)
    assert second.active_length == suffix
    assert np.array_equal(run(manager, [second])[0], cold(tokens, 12)[12:])
    np.testing.assert_allclose(cold(tokens, 12), cold(tokens), rtol=1e-5, atol=1e-5)


def test_pages_before_the_window_and_free_ones_are_not_read():
    window, tokens = 6, np.arange(40) % 16
    steps = [7, 9, 1, 1, 1, 1, 1, 1, 1, 5, 12]
    rows: list[list[np.ndarray]] = []
    for kept in (window, None):
        manager = PagedKVCacheManager(params(), None, 12, 0, True, max_batch_size=2, window=kept)
        context, made = start(manager, "a", tokens), []
        for count in steps:
            context.active_length = count
            manager.alloc(context)
            made += run(manager, [context], window)
            pages = manager.pages[0].values[0].to_numpy()
            unused = sorted(set(range(12)) - set(manager.get_req_blocks("a")))
            pages[unused] = np.nan
        assert len(manager.get_req_blocks("a")) == (2 if kept else 10)
        rows.append(made)
    for dropped, kept in zip(*rows, strict=True):
        assert not np.isnan(dropped).any() and np.array_equal(dropped, kept)
