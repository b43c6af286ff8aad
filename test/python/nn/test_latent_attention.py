# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LatentAttentionWithRope in chunks, in both forms, against PyTorch in float64 without a cache."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from compiling import cpu_tensor, session
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Module, ops
from kvern.nn.kv_cache import MLAKVCacheParams
from nn.layer_cases import random_weights
from nn.paged_steps import PAGE, STEPS, assert_steps, bind, build, cache_params
from nn.test_cached_attention import rotate

CPU, HEADS, HIDDEN = DeviceRef.CPU(), 3, 20
LATENT, NOPE, ROPE, VALUE = 12, 6, 4, 5
functional = torch.nn.functional
PARAMS = MLAKVCacheParams(DType.float32, LATENT + ROPE, 2, [CPU], page_size=PAGE, num_q_heads=HEADS)
YARN = nn.DeepseekYarnRopeScalingParams(4.0, 32, 32, 1, 1.0, 0.5)


def make(rope: nn.RotaryEmbedding | None = None, **options: Any) -> nn.LatentAttentionWithRope:
    given: dict[str, Any] = {
        "rope": rope or nn.RotaryEmbedding(ROPE, 1, 100.0, 32),
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "hidden_size": HIDDEN,
        "kv_params": PARAMS,
        "dtype": DType.float32,
        "kv_lora_rank": LATENT,
        "qk_nope_head_dim": NOPE,
        "qk_rope_head_dim": ROPE,
        "v_head_dim": VALUE,
    }
    return nn.LatentAttentionWithRope(**(given | options))


LAYERS: dict[str, Callable[[], nn.LatentAttentionWithRope]] = {
    "either": lambda: make(q_lora_rank=8),
    "prefill": lambda: make(graph_mode="prefill"),
    "decode": lambda: make(graph_mode="decode", scale=0.7),
}


@functools.cache
def compiled() -> tuple[dict[str, Any], dict[str, Any]]:
    """All layers in one executable, and the numbers of their weights."""
    module, registry, numbers = Module(), {}, {}
    for name, maker in LAYERS.items():
        layer = maker()
        weights = random_weights(layer)
        registry |= bind(name, layer, weights)
        numbers[name] = {n: torch.from_numpy(w.astype(np.float64)) for n, w in weights.items()}

        def body(x: Any, offsets: Any, cache: Any, layer: Any = layer) -> Any:
            index = ops.constant(1, DType.uint32, CPU)
            return layer(index, x, cache, layer.rope.freqs_cis, offsets)

        build(name, module, PARAMS, [cpu_tensor(DType.float32, ["total_seq_len", HIDDEN])], body)
    return session().load_all(module, weights_registry=registry), numbers


def reference(layer: Any, w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The output for one whole sequence, `[S, hidden]`, by keys and values in full."""

    def norm(name: str, y: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(y, (y.shape[-1],), w[f"{name}.weight"], 1e-6)

    def project(name: str, y: torch.Tensor) -> torch.Tensor:
        return functional.linear(y, w[f"{name}.weight"])

    if layer.q_lora_rank is None:
        q = project("q_proj", x)
    else:
        q = project("q_b_proj", norm("q_a_layernorm", project("q_a_proj", x)))
    q = q.unflatten(-1, (HEADS, -1)).transpose(0, 1)
    latent, key = project("kv_a_proj_with_mqa", x).split([LATENT, ROPE], -1)
    both = project("kv_b_proj", norm("kv_a_layernorm", latent))
    k, v = both.unflatten(-1, (HEADS, -1)).transpose(0, 1).split([NOPE, VALUE], -1)
    q = torch.cat([q[..., :NOPE], rotate(layer.rope, q[..., NOPE:])], -1)
    k = torch.cat([k, rotate(layer.rope, key[None]).expand(HEADS, -1, -1)], -1)
    scores = q @ k.transpose(1, 2) * layer.scale
    is_later = torch.ones(len(x), len(x)).triu(1).bool()
    gathered = scores.masked_fill(is_later, -torch.inf).softmax(-1) @ v
    return project("o_proj", gathered.transpose(0, 1).flatten(1))


@pytest.mark.parametrize("name", LAYERS)
def test_chunks_and_single_tokens(name: str) -> None:
    models, numbers = compiled()
    rng = np.random.default_rng(1)
    sequences = [rng.uniform(-1, 1, (n, HIDDEN)).astype(np.float32) for n in np.sum(STEPS, 0)]
    wanted = [
        reference(LAYERS[name](), numbers[name], torch.from_numpy(x).double()).numpy()
        for x in sequences
    ]

    largest = np.abs(np.concatenate(wanted)).max()
    assert_steps(models[name], PARAMS, sequences, wanted, 2e-5 * largest)


def test_weight_names_and_scale() -> None:
    shapes = {
        name: [int(dim) for dim in weight.shape]
        for name, weight in make(q_lora_rank=8).raw_state_dict().items()
    }
    assert shapes == {
        "q_a_proj.weight": [8, HIDDEN],
        "q_a_layernorm.weight": [8],
        "q_b_proj.weight": [HEADS * (NOPE + ROPE), 8],
        "kv_a_proj_with_mqa.weight": [LATENT + ROPE, HIDDEN],
        "kv_a_layernorm.weight": [LATENT],
        "kv_b_proj.weight": [HEADS * (NOPE + VALUE), LATENT],
        "o_proj.weight": [HIDDEN, HEADS * VALUE],
    }
    assert "q_proj.weight" in make().raw_state_dict()
    assert make().scale == pytest.approx((NOPE + ROPE) ** -0.5)
    stretched = nn.DeepseekYarnRotaryEmbedding(ROPE, 1, 100.0, 32, scaling_params=YARN)
    growth = (0.1 * 0.5 * np.log(4.0) + 1) ** 2
    assert make(stretched).scale == pytest.approx((NOPE + ROPE) ** -0.5 * growth)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph_mode": "both"}, "'prefill', 'decode' or None as graph_mode, but got 'both'"),
        ({"kv_params": cache_params()}, "head_dim=16, but got MHAKVCacheParams with 8"),
        ({"kv_lora_rank": 16}, "head_dim=20, but got MLAKVCacheParams with 16"),
        ({"rope": nn.RotaryEmbedding(8, 1, 100.0, 32)}, "heads of 4 elements, but got 8"),
        ({"num_key_value_heads": 2}, "the 3 heads of the queries, or 1"),
        ({"devices": [CPU, CPU]}, "does not support several devices"),
        ({"o_proj_quant_config": "fp8"}, "does not support quantized weights"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=message):
        make(**options)
