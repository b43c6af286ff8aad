# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention layers over a paged cache, in chunks, against PyTorch in float64 without a cache."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from compiling import cpu_tensor, session
from gguf import GGMLQuantizationType, dequantize, quantize
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Module, ops
from kvern.graph.quantization import QuantizationEncoding
from kvern.nn.kv_cache import KVCacheQuantizationConfig
from nn.layer_cases import random_weights
from nn.paged_steps import STEPS, assert_steps, bind, build, cache_params

CPU = DeviceRef.CPU()
HEADS, KV_HEADS, SIZE, HIDDEN = 4, 2, 8, 32
functional = torch.nn.functional
Mask = nn.MHAMaskVariant
SCALES = KVCacheQuantizationConfig(DType.float32, SIZE)
PLAIN = (cache_params(), DType.float32, 2e-5)
COMMON: dict[str, Any] = {
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "hidden_size": HIDDEN,
    "kv_params": cache_params(),
}


def with_rope(interleaved: bool = False, width: int = SIZE, **options: Any) -> nn.AttentionWithRope:
    rope = nn.RotaryEmbedding(HEADS * width, HEADS, 100.0, 32, interleaved=interleaved)
    given: dict[str, Any] = {"rope": rope, **COMMON, **options}
    return nn.AttentionWithRope(**given)


def gguf(encoding: QuantizationEncoding) -> nn.GGUFQAttentionWithRope:
    rope = nn.RotaryEmbedding(HIDDEN, HEADS, 100.0, 32)
    layer = nn.GGUFQAttentionWithRope(
        rope=rope, dtype=DType.uint8, quantization_encoding=encoding, **COMMON
    )
    # One projection has an encoding of its own.
    weight, other = layer.raw_state_dict()["k_proj.weight"], QuantizationEncoding.Q4_1
    weight.quantization_encoding = other
    weight.shape = [KV_HEADS * SIZE, HIDDEN // other.elements_per_block * other.block_size]
    return layer


LAYERS: dict[str, Callable[[], nn.AttentionWithRope | nn.RaggedAttention]] = {
    "halves": with_rope,
    "stacked": lambda: with_rope(True, stacked_qkv=True),
    "bias-clip": lambda: with_rope(has_bias=True, clip_qkv=0.25),
    "norms": lambda: with_rope(use_qk_norm=True, qk_norm_offset=1.0, scale=0.5),
    "apart": lambda: with_rope(True, use_qk_norm=True, _fuse_rope_and_store=False),
    "partial": lambda: with_rope(width=4),
    "partial-apart": lambda: with_rope(width=4, _fuse_rope_and_store=False),
    "window": lambda: with_rope(mask_variant=Mask.SLIDING_WINDOW_CAUSAL_MASK, sliding_window=5),
    "softcap": lambda: with_rope(logits_soft_cap=2.0, sinks=True, scale=1.5),
    "no-rope": lambda: nn.RaggedAttention(mask_variant=Mask.CAUSAL_MASK, **COMMON),
    "no-rope-chunks": lambda: nn.RaggedAttention(
        mask_variant=Mask.CHUNKED_CAUSAL_MASK,
        sliding_window=6,
        stacked_qkv=True,
        sinks=True,
        **COMMON,
    ),
    "Q8_0": lambda: gguf(QuantizationEncoding.Q8_0),
    "Q4_0": lambda: gguf(QuantizationEncoding.Q4_0),
}
# What the other cases are not: caches and weights of other types, and the error, relative to the largest number.
CACHES = {
    "int8": (cache_params(dtype=DType.int8, kvcache_quant_config=SCALES), DType.float32, 2e-2)
}
CACHES["bf16"] = (cache_params(dtype=DType.bfloat16), DType.bfloat16, 4e-2)
for label, (params, dtype, _) in CACHES.items():
    LAYERS[label] = lambda p=params, d=dtype: with_rope(kv_params=p, dtype=d)
BLOCKS = {
    QuantizationEncoding.Q8_0: GGMLQuantizationType.Q8_0,
    QuantizationEncoding.Q4_0: GGMLQuantizationType.Q4_0,
    QuantizationEncoding.Q4_1: GGMLQuantizationType.Q4_1,
}


def weights_of(layer: nn.Module) -> tuple[dict[str, np.ndarray], dict[str, torch.Tensor]]:
    """Random weights as stored, and their numbers in float64."""
    weights, numbers = random_weights(layer), {}
    for name, weight in layer.raw_state_dict().items():
        kind = BLOCKS.get(weight.quantization_encoding)  # pyright: ignore[reportArgumentType]
        if kind is not None:
            wide = np.random.default_rng(len(name)).uniform(-1, 1, (int(weight.shape[0]), HIDDEN))
            weights[name] = quantize(wide.astype(np.float32), kind)
        value = weights[name] if kind is None else dequantize(weights[name], kind)
        numbers[name] = torch.from_numpy(value.astype(np.float64))
    return weights, numbers


@functools.cache
def compiled() -> tuple[dict[str, Any], dict[str, Any]]:
    """All layers in one executable, and the numbers of their weights."""
    module, registry, numbers = Module(), {}, {}
    for name, make in LAYERS.items():
        layer = make()
        weights, numbers[name] = weights_of(layer)
        registry |= bind(name, layer, weights)

        def body(x: Any, offsets: Any, cache: Any, layer: Any = layer) -> Any:
            index = ops.constant(1, DType.uint32, CPU)
            table = [layer.rope.freqs_cis] if isinstance(layer, nn.AttentionWithRope) else []
            return layer(index, x, cache, *table, offsets)

        params, dtype, _ = CACHES.get(name, PLAIN)
        x = cpu_tensor(dtype, ["total_seq_len", HIDDEN])
        build(name, module, params, [x], body)
    return session().load_all(module, weights_registry=registry), numbers


def reference(layer: Any, w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The output for one whole sequence, `[S, hidden]`."""
    names = ["qkv_proj"] if "qkv_proj.weight" in w else ["q_proj", "k_proj", "v_proj"]
    clip = layer.qkv_proj.linears[0].clip_weight or torch.inf
    parts = [
        functional.linear(x, w[f"{n}.weight"].clamp(-clip, clip), w.get(f"{n}.bias")) for n in names
    ]
    heads = torch.cat(parts, -1).unflatten(-1, (-1, SIZE)).transpose(0, 1)
    q, k, v = heads.split([HEADS, KV_HEADS, KV_HEADS])
    if "q_norm.weight" in w:
        offset = layer.q_norm.weight_offset
        q, k = (
            functional.rms_norm(y, (SIZE,), w[f"{n}_norm.weight"] + offset, 1e-6)
            for y, n in ((q, "q"), (k, "k"))
        )
    length = len(x)
    if isinstance(layer, nn.AttentionWithRope):
        q, k = rotate(layer.rope, q), rotate(layer.rope, k)
    scores = q @ k.repeat_interleave(HEADS // KV_HEADS, 0).transpose(1, 2) * layer.scale
    if layer.logits_soft_cap:
        scores = layer.logits_soft_cap * torch.tanh(scores / layer.logits_soft_cap)
    p, j = torch.arange(length)[:, None], torch.arange(length)
    window = layer.sliding_window
    seen = (j <= p) & {
        Mask.CAUSAL_MASK: torch.tensor(True),
        Mask.SLIDING_WINDOW_CAUSAL_MASK: p - j < (window or 1),
        Mask.CHUNKED_CAUSAL_MASK: p // (window or 1) == j // (window or 1),
    }.get(layer.mask_variant, torch.tensor(False))
    scores = scores.masked_fill(~seen, -torch.inf)
    if "sinks" in w:
        sink = w["sinks"][:, None, None].expand(-1, length, 1)
        scores = torch.cat([scores, sink], -1)
    shares = scores.softmax(-1)[..., :length]
    gathered = shares @ v.repeat_interleave(HEADS // KV_HEADS, 0)
    y = gathered.transpose(0, 1).flatten(1)
    return functional.linear(y, w["o_proj.weight"], w.get("o_proj.bias"))


def rotate(rope: nn.RotaryEmbedding, x: torch.Tensor) -> torch.Tensor:
    """Rotates `[heads, S, size]`, the first elements of each head."""
    width = rope.head_dim
    frequencies = 100.0 ** (-torch.arange(0, width, 2).double() / width)
    angles = torch.arange(x.shape[1]).double()[:, None] * frequencies
    turn = torch.polar(torch.ones_like(angles), angles)
    head, rest = x[..., :width], x[..., width:]
    if rope.interleaved:
        pairs = torch.view_as_complex(head.unflatten(-1, (-1, 2)).contiguous()) * turn
        return torch.cat([torch.view_as_real(pairs).flatten(-2), rest], -1)
    a, b = head.chunk(2, -1)
    pairs = torch.complex(a.contiguous(), b.contiguous()) * turn
    return torch.cat([pairs.real, pairs.imag, rest], -1)


@pytest.mark.parametrize("name", LAYERS)
def test_chunks_and_single_tokens(name: str) -> None:
    models, numbers = compiled()
    layer = LAYERS[name]()
    lengths = np.sum(STEPS, 0)
    params, dtype, bound = CACHES.get(name, PLAIN)
    rng = np.random.default_rng(1)
    sequences = [rng.uniform(-1, 1, (n, HIDDEN)).astype(dtype.to_ml_dtypes()) for n in lengths]
    wanted = [
        reference(layer, numbers[name], torch.from_numpy(x.astype(np.float64))).numpy()
        for x in sequences
    ]

    largest = np.abs(np.concatenate(wanted)).max()
    assert_steps(models[name], params, sequences, wanted, bound * largest)


def test_weight_names() -> None:
    names = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}
    assert set(with_rope().raw_state_dict()) == names
    stacked = with_rope(stacked_qkv=True, use_qk_norm=True, sinks=True).raw_state_dict()
    shapes = {name: [int(dim) for dim in weight.shape] for name, weight in stacked.items()}
    assert shapes == {
        "qkv_proj.weight": [(HEADS + 2 * KV_HEADS) * SIZE, HIDDEN],
        "o_proj.weight": [HIDDEN, HEADS * SIZE],
        "q_norm.weight": [SIZE],
        "k_norm.weight": [SIZE],
        "sinks": [HEADS],
    }


def test_scale_of_a_rope_that_stretches() -> None:
    """Scores grow as much where a part of each head is rotated."""
    for width in (SIZE, SIZE // 2):
        divisors = [1.0] * (width // 2)
        params = nn.LongRoPEScalingParams(divisors, divisors, 16, 64)
        rope = nn.LongRoPERotaryEmbedding(HEADS * width, HEADS, 100.0, 32, scaling_params=params)
        wanted = SIZE**-0.5 * (1 + np.log(4) / np.log(16))
        assert with_rope(rope=rope).scale == pytest.approx(wanted)
        assert with_rope(rope=rope, scale=0.5).scale == 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: with_rope(stacked_qkv=True, has_bias=True), "has_bias=False with stacked_qkv"),
        (lambda: with_rope(sliding_window=4), "no window with the mask 'causal', but got 4"),
        (
            lambda: with_rope(mask_variant=Mask.SLIDING_WINDOW_CAUSAL_MASK),
            "a window of at least 1 token with the mask 'sliding_window_causal', but got none",
        ),
        (lambda: with_rope(width=16), "heads of at most 8 elements, as in the cache, but got 16"),
        (lambda: with_rope(devices=[CPU, CPU]), "does not support several devices"),
        (lambda: with_rope(sharding_strategy="x"), "sharding"),
        (
            lambda: nn.RaggedAttention(
                mask_variant=Mask.CAUSAL_MASK, **(COMMON | {"num_key_value_heads": 3})
            ),
            r"a multiple of num_key_value_heads \(3\), but got 4",
        ),
        (
            lambda: nn.RaggedAttention(
                mask_variant=Mask.CAUSAL_MASK, **(COMMON | {"num_key_value_heads": 4})
            ),
            "the 2 heads of the cache as num_key_value_heads, but got 4",
        ),
        (lambda: gguf(QuantizationEncoding.GPTQ), "an encoding of Q4_0.* but got"),
    ],
)
def test_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=message):
        make()
