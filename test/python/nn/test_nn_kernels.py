# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrappers of `nn.kernels` in steps over a cache, against PyTorch in float64; what they refuse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from compiling import cpu_tensor, evaluate, run, session
from kvern import nn
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import KvernError
from kvern.graph import DeviceRef, Graph, Module, TensorValue, ops
from kvern.nn import kernels
from nn.paged_steps import STEPS, assert_steps, build, cache_params
from nn.test_cached_attention import COMMON, HEADS, HIDDEN, KV_HEADS, SIZE, reference, with_rope

CPU, F32, U32 = DeviceRef.CPU(), DType.float32, DType.uint32
PARAMS, Mask = cache_params(), nn.MHAMaskVariant
ROWS = (HEADS + 2 * KV_HEADS) * SIZE
RNG = np.random.default_rng(11)
WEIGHT = RNG.uniform(-1, 1, (ROWS, HIDDEN)).astype(np.float32)
BIAS = RNG.uniform(-1, 1, ROWS).astype(np.float32)
LAYERS: dict[str, Any] = {
    "joined": with_rope(True, scale=0.5, logits_soft_cap=3.0),
    "apart": with_rope(True, scale=0.5),
    "fused": nn.RaggedAttention(mask_variant=Mask.CAUSAL_MASK, scale=0.5, **COMMON),
}


def joined(x: Any, w: Any, bias: Any, offsets: Any, cache: Any, layer: Any) -> TensorValue:
    table = LAYERS["joined"].rope.freqs_cis
    q = kernels.rope_split_store_ragged(
        PARAMS, x @ w.T + bias, offsets, table, cache, layer, HEADS, interleaved=True
    )
    return attend(q, offsets, cache, layer, logits_soft_cap=3.0)


def apart(x: Any, w: Any, bias: Any, offsets: Any, cache: Any, layer: Any) -> TensorValue:
    table = LAYERS["apart"].rope.freqs_cis
    parts = ops.split(x @ w.T + bias, [HEADS * SIZE, KV_HEADS * SIZE, KV_HEADS * SIZE], axis=-1)
    q, k, v = (ops.reshape(part, [x.shape[0], -1, SIZE]) for part in parts)
    q, k = (kernels.rope_ragged(y, offsets, cache.cache_lengths, table) for y in (q, k))
    kernels.kv_cache_store_paged(PARAMS, k, v, offsets, cache, layer)
    return attend(q, offsets, cache, layer)


def fused(x: Any, w: Any, bias: Any, offsets: Any, cache: Any, layer: Any) -> TensorValue:
    q = kernels.fused_qkv_ragged_matmul(PARAMS, x, offsets, w, cache, layer, HEADS, bias)
    return attend(q, offsets, cache, layer)


def attend(q: Any, offsets: Any, cache: Any, layer: Any, **options: Any) -> TensorValue:
    q = ops.reshape(q, [q.shape[0], HEADS, SIZE])
    mask = Mask.CAUSAL_MASK
    y = kernels.flash_attention_ragged(PARAMS, q, offsets, cache, layer, mask, scale=0.5, **options)
    return ops.reshape(y, [y.shape[0], HEADS * SIZE])


BODIES: dict[str, Callable[..., TensorValue]] = {"joined": joined, "apart": apart, "fused": fused}


@functools.cache
def compiled() -> dict[str, Any]:
    module = Module()
    inputs = [
        cpu_tensor(F32, ["total_seq_len", HIDDEN]),
        cpu_tensor(F32, WEIGHT.shape),
        cpu_tensor(F32, BIAS.shape),
    ]
    for name, body in BODIES.items():
        build(
            name,
            module,
            PARAMS,
            inputs,
            lambda *args, body=body: body(*args, ops.constant(0, U32, CPU)),
        )
    return session().load_all(module)


@pytest.mark.parametrize("name", BODIES)
def test_steps(name: str) -> None:
    rng = np.random.default_rng(1)
    sequences = [rng.uniform(-1, 1, (n, HIDDEN)).astype(np.float32) for n in np.sum(STEPS, 0)]
    named = {"qkv_proj.weight": WEIGHT, "qkv_proj.bias": BIAS, "o_proj.weight": np.eye(HIDDEN)}
    weights = {n: torch.from_numpy(w.astype(np.float64)) for n, w in named.items()}
    wanted = [
        reference(LAYERS[name], weights, torch.from_numpy(x).double()).numpy() for x in sequences
    ]

    assert_steps(compiled()[name], PARAMS, sequences, wanted, 5e-5, WEIGHT, BIAS)


def test_token_positions() -> None:
    offsets, lengths = np.array([0, 2, 3, 6], np.uint32), np.array([5, 0, 9], np.uint32)
    (got,) = evaluate(lambda o, s: kernels.token_positions(6, s, o), offsets, lengths)
    np.testing.assert_array_equal(got, [5, 6, 0, 9, 10, 11])


def test_keys_and_values_are_projected_and_stored() -> None:
    page, pages = [2, 2, 4, KV_HEADS, SIZE], 5
    weight = RNG.uniform(-1, 1, (2 * KV_HEADS * SIZE, HIDDEN)).astype(np.float32)
    cache = PARAMS.get_symbolic_inputs()
    types = [
        cpu_tensor(F32, ["total_seq_len", HIDDEN]),
        cpu_tensor(F32, weight.shape),
        cpu_tensor(U32, ["offsets"]),
        *cache.flatten(),
    ]
    with Graph("stores", input_types=types) as graph:
        x, w, offsets, *leaves = graph.inputs
        paged = cache.unflatten(iter(leaves)).inputs[0]
        layer = ops.constant(1, U32, CPU)
        kernels.kv_matmul_ragged_paged(PARAMS, x.tensor, offsets.tensor, w.tensor, paged, layer)
        graph.output()
    x = RNG.uniform(-1, 1, (3, HIDDEN)).astype(np.float32)
    blocks = Buffer.zeros([pages, *page], F32)
    small = [np.array(a, np.uint32) for a in ([0, 3], [1], [[2]], [3], [4])]
    run(session().load(graph), [x, weight, small[0], blocks, *small[1:]])
    expected = np.zeros([pages, *page])
    both = (x.astype(np.float64) @ weight.T.astype(np.float64)).reshape(3, 2, KV_HEADS, SIZE)
    expected[2, :, 1, 1:4] = both.swapaxes(0, 1)
    np.testing.assert_allclose(blocks.to_numpy(), expected, rtol=0, atol=1e-5)


def test_pages_are_copied() -> None:
    cache = PARAMS.get_symbolic_inputs().inputs[0]
    pages = cpu_tensor(U32, ["copies"])
    with Graph("copies", input_types=[cache.kv_blocks, pages, pages]) as graph:
        blocks, sources, targets = graph.inputs
        memory = blocks.buffer
        kernels.kv_cache_copy_pages(memory, memory, sources.tensor, targets.tensor)
        graph.output()
    model = session().load(graph)
    before = RNG.uniform(-1, 1, [5, *PARAMS.shape_per_block]).astype(np.float32)
    blocks = Buffer.from_numpy(before.copy())
    run(model, [blocks, np.array([2, 2, 1], np.uint32), np.array([0, 4, 3], np.uint32)])
    np.testing.assert_array_equal(blocks.to_numpy(), before[[2, 1, 2, 1, 2]])
    run(model, [blocks, np.zeros(0, np.uint32), np.zeros(0, np.uint32)])
    np.testing.assert_array_equal(blocks.to_numpy(), before[[2, 1, 2, 1, 2]])
    with pytest.raises(KvernError, match="5"):
        run(model, [blocks, np.array([1], np.uint32), np.array([5], np.uint32)])


def test_attention_without_a_cache() -> None:
    q = RNG.uniform(-1, 1, (2, 5, 4, SIZE)).astype(np.float32)
    k, v = (RNG.uniform(-1, 1, (2, 5, 2, SIZE)).astype(np.float32) for _ in range(2))
    mask = nn.AttentionMaskVariant.SLIDING_WINDOW_CAUSAL_MASK
    (got,) = evaluate(lambda *x: kernels.flash_attention(*x, mask, 0.5, 3), q, k, v)
    wide = [torch.from_numpy(x.astype(np.float64)).transpose(1, 2) for x in (q, k, v)]
    keys, values = (x.repeat_interleave(2, 1) for x in wide[1:])
    p, j = torch.arange(5)[:, None], torch.arange(5)
    y = torch.nn.functional.scaled_dot_product_attention(
        wide[0], keys, values, attn_mask=(j <= p) & (p - j < 3), scale=0.5
    )
    np.testing.assert_allclose(got, y.transpose(1, 2).numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, o, i, c: kernels.rope_ragged(x, o, c.cache_lengths, x),
            "rope_ragged: expected input of rank 3, but got",
        ),
        (
            lambda x, o, i, c: kernels.kv_matmul_ragged_paged(PARAMS, x, i, x, c, o),
            "layer_idx of rank 0",
        ),
        (
            lambda x, o, i, c: kernels.kv_matmul_ragged_paged(PARAMS, o, o, x, c, i),
            "input of rank 2",
        ),
        (
            lambda x, o, i, c: kernels.kv_matmul_ragged_paged(
                PARAMS, x, o.cast(DType.int64), x, c, i
            ),
            "input_row_offsets of uint32, but got int64",
        ),
        (
            lambda x, o, i, c: kernels.kv_cache_store_paged(PARAMS, x, None, o, c, i),
            "v for a cache of keys and values, but got None",
        ),
        (
            lambda x, o, i, c: kernels.flash_attention_ragged(
                PARAMS, ops.reshape(x, [-1, HEADS, SIZE]), o, c, i, "4", 1.0
            ),
            "a window of at least 1 token with the mask 'sliding_window_causal', but got none",
        ),
        (
            lambda x, o, i, c: kernels.mask_of("f", nn.AttentionMaskVariant.TENSOR_MASK, -1),
            "f does not support a mask that is a tensor; available are causal",
        ),
        (
            lambda x, o, i, c: kernels.rope_split_store_ragged(PARAMS, x, o, x, c, i, HEADS),
            r"4 \+ 2 \* 2 heads of 8 elements",
        ),
        (
            lambda x, o, i, c: kernels.fused_qkv_ragged_matmul(PARAMS, x, o, x, c, i, HEADS),
            r"a weight of shape \[64, columns\], but got",
        ),
        (lambda x, o, i, c: kernels.mask_of("f", "alibi", -1), "MHAMaskVariant.*'alibi'"),
    ],
)
def test_refused(call: Callable[..., Any], message: str) -> None:
    def body(x: Any, offsets: Any, cache: Any) -> Any:
        with pytest.raises((ValueError, NotImplementedError), match=message):
            call(x, offsets, ops.constant(0, U32, CPU), cache)
        return x

    build("refused", Module(), PARAMS, [cpu_tensor(F32, [HIDDEN, HIDDEN])], body)
