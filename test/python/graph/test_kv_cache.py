# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged caches, line by line of the table of what there is, against attention by its definition in float64.

A kernel serves one element type, number of heads and mask. All pairs of them are compiled, not all triples.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph.cache_table import WINDOW, Line, error_bound, markdown, table
from graph.paged import CPU, U32, Cache, attend, bundle, offsets_of
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model
from kvern.errors import ExecutionError
from kvern.graph import BufferType, Dim, Graph, TensorType, ops
from op_cases.attention import reference, rotated

F32 = DType.float32
DTYPES = {
    "f32": F32,
    "bf16": DType.bfloat16,
    "f16": DType.float16,
    "f64": DType.float64,
    "i8": DType.int8,
    "f8E4M3FN": DType.float8_e4m3fn,
}
HEADS = {"MHA": 4, "GQA": 2, "MQA": 1, "MLA": 1}
GRANULARITY, HEAD_DIM, VALUE_DIM, PAGE = 32, 64, 48, 4
# Sequences around the size of a page; the step has single tokens and parts of prompts.
LENGTHS, COUNTS = [0, 1, PAGE - 1, PAGE, PAGE + 1, 21], [0, 1, 3, 1, 2, 4]


TABLE = table()
SERVED = [line for line in TABLE if line.support != "refused"]
ELEMENTS = list(dict.fromkeys(line.element for line in SERVED))
MASKS = list(dict.fromkeys(line.mask for line in SERVED))


def is_compiled(line: Line) -> bool:
    """Every pair of element type, heads and mask is in some line; of latent rows, every type and three masks."""
    at = ELEMENTS.index(line.element) + MASKS.index(line.mask)
    if line.heads == "MLA":
        return at % len(MASKS) == 2
    return list(HEADS)[at % 3] == line.heads


COMPILED = [line for line in SERVED if is_compiled(line)]


@functools.cache
def model_of(element: str, heads: str) -> tuple[Model, tuple[str, ...]]:
    """A step of a layer, with attention by each mask of the lines."""
    lines = [line for line in COMPILED if (line.element, line.heads) == (element, heads)]
    masks = {line.mask: line.window for line in lines}
    cache = cache_of(element, heads)
    latent = heads == "MLA"
    kv = TensorType(F32, ["tokens", cache.heads, HEAD_DIM], CPU)
    q = TensorType(F32, ["tokens", 4, HEAD_DIM], CPU)
    offsets, layer = TensorType(U32, [Dim("batch") + 1], CPU), TensorType(U32, [], CPU)
    with Graph("step", input_types=[q, kv, kv, offsets, layer, *cache.types()]) as graph:
        q, k, v, offsets, layer = [value.tensor for value in graph.inputs[:5]]
        value = bundle(list(graph.inputs[5:]))
        ops.kv_store(value, layer, offsets, k, None if latent else v)
        options: dict[str, Any] = {"value_dim": VALUE_DIM} if latent else {}
        graph.output(
            *[
                ops.paged_attention(
                    q, offsets, value, layer, mask_variant=m, local_window_size=w, **options
                )
                for m, w in masks.items()
            ]
        )
    return InferenceSession().load(graph), tuple(masks)


def cache_of(element: str, heads: str) -> Cache:
    dtype = DTYPES[element]
    cache = Cache(
        LENGTHS,
        HEADS[heads],
        HEAD_DIM,
        page_size=PAGE,
        dtype=dtype,
        granularity=GRANULARITY if dtype.size_in_bytes == 1 else 0,
    )
    if heads == "MLA":
        cache.blocks = np.ascontiguousarray(cache.blocks[:, :1])
    return cache


def rows_of(lengths: list[int], heads: int, seed: int) -> np.ndarray[Any, Any]:
    """Rows with a group of zeros, and elements that are small next to others of their group."""
    x = np.random.default_rng(seed).standard_normal((sum(lengths), heads, HEAD_DIM))
    x[..., ::7] *= 1e-5
    x[-1, 0, :GRANULARITY] = 0
    return x.astype(np.float32)


def attend_by(line: Line, cache: Cache, q: Any, counts: list[int]) -> np.ndarray[Any, Any]:
    """By the definition, over what is stored."""
    value_dim = VALUE_DIM if line.heads == "MLA" else 0
    return attend(cache, q, counts, 1, value_dim, variant=line.mask, window=line.window)


def evict(cache: Cache, counts: list[int], line: Line) -> None:
    """Gives away the pages that no query of the step sees."""
    for batch, (length, count) in enumerate(zip(cache.lengths, counts, strict=True)):
        first = length - count
        seen = (
            first // WINDOW * WINDOW
            if line.mask == "chunked_causal"
            else max(first - WINDOW + 1, 0)
        )
        for page in range(seen // PAGE):
            if cache.scales is not None:
                cache.scales[cache.table[batch, page]] = np.nan
            else:
                cache.blocks[cache.table[batch, page]] = np.nan
            cache.table[batch, page] = 2**32 - 1


@pytest.mark.parametrize("line", COMPILED, ids=str)
def test_line(line: Line) -> None:
    model, masks = model_of(line.element, line.heads)
    at = masks.index(line.mask)
    cache = cache_of(line.element, line.heads)
    k, v = (rows_of(LENGTHS, cache.heads, seed) for seed in (1, 2))
    q = np.random.default_rng(3).standard_normal((len(k), 4, HEAD_DIM)).astype(np.float32)
    layer = np.uint32(1)

    got = model.execute(q, k, v, offsets_of(LENGTHS), layer, *cache.values([0] * len(LENGTHS)))
    np.testing.assert_allclose(
        got[at].to_numpy(), attend_by(line, cache, q, LENGTHS), rtol=2e-4, atol=2e-5
    )
    offsets = offsets_of(LENGTHS)
    for side, given in enumerate([k] if line.heads == "MLA" else [k, v]):
        for batch, length in enumerate(LENGTHS):
            rows = given[offsets[batch] : offsets[batch + 1]]
            error = np.abs(cache.rows(batch, side, 1, length) - rows)
            assert (error <= error_bound(line.element, rows, GRANULARITY)).all()

    last = np.concatenate(
        [np.arange(stop - count, stop) for stop, count in zip(offsets[1:], COUNTS, strict=True)]
    )
    last = last.astype(int)
    expected = attend_by(line, cache, q[last], COUNTS)
    if line.evicts:
        evict(cache, COUNTS, line)
    cached = [length - count for length, count in zip(LENGTHS, COUNTS, strict=True)]
    got = model.execute(q[last], k[last], v[last], offsets_of(COUNTS), layer, *cache.values(cached))
    np.testing.assert_allclose(got[at].to_numpy(), expected, rtol=2e-4, atol=2e-5)


def test_sequences_may_share_pages() -> None:
    model, masks = model_of("f32", "GQA")
    line = next(x for x in COMPILED if (x.element, x.heads) == ("f32", "GQA") and not x.evicts)
    cache = Cache([9, 11], 2, HEAD_DIM, page_size=PAGE)
    cache.table[1, :2] = cache.table[0, :2]
    k, v = (rows_of([9], 2, seed) for seed in (1, 2))
    q = np.zeros((9, 4, HEAD_DIM), np.float32)
    model.execute(q, k, v, offsets_of([9, 0]), np.uint32(1), *cache.values([0, 8]))
    k, v = (rows_of([3], 2, seed) for seed in (3, 4))
    q = np.random.default_rng(5).standard_normal((3, 4, HEAD_DIM)).astype(np.float32)
    got = model.execute(q, k, v, offsets_of([0, 3]), np.uint32(1), *cache.values([9, 8]))
    expected = attend_by(line, cache, q, [0, 3])
    found = got[masks.index(line.mask)].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_sinks_softcap_and_rotation() -> None:
    cache = Cache(LENGTHS, 2, HEAD_DIM, page_size=PAGE)
    width = 32
    kv = TensorType(F32, ["tokens", 2, HEAD_DIM], CPU)
    q = TensorType(F32, ["tokens", 4, HEAD_DIM], CPU)
    types = [q, kv, kv, TensorType(U32, [Dim("batch") + 1], CPU), TensorType(U32, [], CPU)]
    more = [TensorType(F32, [32, width], CPU), TensorType(F32, [4], CPU)]
    with Graph("step", input_types=[*types, *more, *cache.types()]) as graph:
        q, k, v, offsets, layer, freqs, sinks = [value.tensor for value in graph.inputs[:7]]
        value = bundle(list(graph.inputs[7:]))
        turned = ops.rope_store(q, k, v, offsets, freqs, value, layer, interleaved=False)
        attended = ops.paged_attention(turned, offsets, value, layer, sinks=sinks, softcap=3.0)
        graph.output(turned, attended)
    model = InferenceSession().load(graph)

    rng = np.random.default_rng(0)
    k, v = (rows_of(LENGTHS, 2, seed) for seed in (1, 2))
    q = rng.standard_normal((len(k), 4, HEAD_DIM)).astype(np.float32)
    freqs, sinks = (rng.standard_normal(s).astype(np.float32) for s in ((32, width), 4))
    offsets = offsets_of(LENGTHS)
    inputs = [q, k, v, offsets, np.uint32(1), freqs, sinks, *cache.values([0] * len(LENGTHS))]
    turned, attended = (x.to_numpy() for x in model.execute(*inputs))

    places = np.concatenate([np.arange(length) for length in LENGTHS])
    freqs = freqs.astype(np.float64)
    expected = rotated(q.astype(np.float64), freqs, places, False)
    np.testing.assert_allclose(turned, expected, rtol=1e-5, atol=1e-5)
    keys = rotated(k.astype(np.float64), freqs, places, False)
    for batch, length in enumerate(LENGTHS):
        own = slice(offsets[batch], offsets[batch + 1])
        np.testing.assert_allclose(cache.rows(batch, 0, 1, length), keys[own], atol=1e-5)
        np.testing.assert_array_equal(cache.rows(batch, 1, 1, length), v[own])
        wanted = reference(
            expected[None, own],
            keys[None, own],
            v[None, own].astype(np.float64),
            variant="causal",
            sinks=sinks,
            softcap=3.0,
        )
        np.testing.assert_allclose(attended[own], wanted[0], rtol=2e-4, atol=2e-5)


def test_a_cache_has_a_page() -> None:
    model, _ = model_of("f32", "GQA")
    cache = cache_of("f32", "GQA")
    cache.blocks = cache.blocks[:0]
    k, q = np.ones((12, 2, HEAD_DIM), np.float32), np.ones((12, 4, HEAD_DIM), np.float32)
    inputs = [q, k, k, offsets_of([2] * 6), np.uint32(0), *cache.values([0] * 6)]
    with pytest.raises(ExecutionError, match="the cache to have a page"):
        model.execute(*inputs)


@pytest.mark.parametrize(
    "bad", ["no table", "table", "lengths", "offsets", "offsets beyond", "layer"]
)
def test_bad_values_read_and_write_in_place(bad: str) -> None:
    model, _ = model_of("f32", "GQA")
    cache = cache_of("f32", "GQA")
    offsets, cached, layer = offsets_of(COUNTS), [0] * len(COUNTS), 1
    around = np.full((len(cache.blocks) + 2, *cache.blocks.shape[1:]), 7.0, np.float32)
    around[1:-1] = cache.blocks
    cache.blocks = around[1:-1]
    if bad == "no table":
        cache.table = cache.table[:, :0]
    elif bad == "table":
        cache.table[:] = np.random.default_rng(0).integers(100, 2**32, cache.table.shape)
    elif bad == "lengths":
        cached = [2**32 - 1, 1000, 7, 2**31, 0, 30]
    elif bad == "offsets":
        offsets = offsets[::-1].copy()
    elif bad == "offsets beyond":
        offsets = np.array([5, 2**32 - 1, 3, 100, 0, 2**31, 12], np.uint32)
    else:
        layer = 2**31 + 5
    rows = sum(COUNTS)
    k = np.ones((rows, 2, HEAD_DIM), np.float32)
    q = np.ones((rows, 4, HEAD_DIM), np.float32)
    model.execute(q, k, k, offsets, np.uint32(layer), *cache.values(cached))
    assert (around[0] == 7).all()
    assert (around[-1] == 7).all()


REFUSED = {
    (line.element, line.heads, line.quantized): line
    for line in TABLE
    if line.support == "refused" and not line.evicts
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=str)
def test_refused(line: Line) -> None:
    sides, heads = 1 if line.heads == "MLA" else 2, HEADS[line.heads]
    shape = ["pages", sides, 2, PAGE, heads]
    types = [BufferType(DTYPES[line.element], [*shape, HEAD_DIM], CPU)]
    types += Cache([1], heads, HEAD_DIM).types()[1:]
    if line.quantized:
        types.append(BufferType(F32, [*shape, HEAD_DIM // GRANULARITY], CPU))
    with (
        Graph("refused", input_types=types) as graph,
        pytest.raises((TypeError, ValueError), match=re.escape(line.text)),
    ):
        bundle(list(graph.inputs))


def test_eviction_needs_a_window() -> None:
    for line in TABLE:
        if line.evicts and line.window < 0:
            assert line.support == "refused"
            assert (
                not line.text.startswith("expected a mask with a window") or line.mask in line.text
            )


def test_page_has_the_table() -> None:
    page = Path(__file__).parents[3] / "docs/kv-cache.md"
    assert markdown() in page.read_text(), f"docs/kv-cache.md should have\n{markdown()}"
