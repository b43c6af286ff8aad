# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers: residuals, norms, what is returned, and layers as calls of one subgraph.

They run `forward_sequential_layers` and `logits_postprocess`.
"""

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
from kvern.graph import DeviceRef, Module
from nn.layer_cases import random_weights
from nn.paged_steps import STEPS, bind, build, cache_params, run_steps
from nn.test_cached_attention import HEADS, HIDDEN, KV_HEADS, reference

CPU, F32, VOCAB = DeviceRef.CPU(), DType.float32, 19
Logits, Hidden = nn.ReturnLogits, nn.ReturnHiddenStates
functional = torch.nn.functional


def norm() -> nn.RMSNorm:
    return nn.RMSNorm(HIDDEN, F32)


def make(
    has_post_norms: bool = False, multiplier: float = 1.0, count: int = 2, **options: Any
) -> nn.Transformer:
    params = cache_params(num_layers=count)
    rope = nn.RotaryEmbedding(HIDDEN, HEADS, 100.0, 32)
    layers = []
    for _ in range(count):
        attention = nn.AttentionWithRope(
            rope=rope,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            hidden_size=HIDDEN,
            kv_params=params,
        )
        behind = {"post_attention_norm": norm(), "post_mlp_norm": norm()} if has_post_norms else {}
        mlp = nn.FusedMLP(F32, None, HIDDEN, 24, [CPU])
        layers.append(nn.TransformerBlock(attention, mlp, norm(), norm(), multiplier, **behind))
    output = nn.Linear(HIDDEN, VOCAB, F32, CPU)
    embedding = nn.Embedding(VOCAB, HIDDEN, F32, CPU)
    return nn.Transformer(HIDDEN, HEADS, layers, norm(), output, embedding, params, rope, **options)


MODELS: dict[str, Callable[[], nn.Transformer]] = {
    "last": lambda: make(return_hidden_states=Hidden.LAST),
    "all": lambda: make(
        return_logits=Logits.ALL, return_hidden_states=Hidden.ALL, subgraph_layer_groups=[[0, 1]]
    ),
    "variable": lambda: make(return_logits=Logits.VARIABLE),
    "selected": lambda: make(
        return_hidden_states=Hidden.SELECTED_LAYERS, target_layer_ids=[1, 0], multiplier=0.25
    ),
    "gemma": lambda: make(
        has_post_norms=True,
        embedding_multiplier=3.0,
        logits_scaling=2.0,
        logits_soft_cap=1.5,
        return_logits=Logits.ALL,
        return_hidden_states=Hidden.ALL_NORMALIZED,
    ),
}


@functools.cache
def compiled() -> tuple[dict[str, Any], dict[str, Any]]:
    """All models in one executable, and their weights in float64. Equal models have equal weights."""
    module, registry, numbers = Module(), {}, {}
    for name, maker in MODELS.items():
        model = maker()
        weights = random_weights(model)
        numbers[name] = {n: torch.from_numpy(w.astype(np.float64)) for n, w in weights.items()}
        count = "n" if name == "variable" else 1
        inputs = [cpu_tensor(DType.int64, ["total_seq_len"]), cpu_tensor(DType.int64, [count])]

        def body(tokens: Any, count: Any, offsets: Any, cache: Any, model: Any = model) -> Any:
            return model(tokens, cache, count, offsets)

        # Subgraphs bind weights by the names of the model, so models that share names share their values too.
        if name in ("all", "last", "variable"):
            model.load_state_dict(weights)
            registry |= weights
        else:
            registry |= bind(name, model, weights)
        build(name, module, cache_params(), inputs, body)
    return session().load_all(module, weights_registry=registry), numbers


def rms(w: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, (HIDDEN,), w[f"{name}.weight"], 1e-6)


def oracle(
    model: Any, w: dict[str, torch.Tensor], tokens: np.ndarray
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Logits of one sequence, and the stream behind each layer."""
    h = w["embed_tokens.weight"][torch.from_numpy(tokens)] * model.embedding_multiplier
    streams = []
    for i, block in enumerate(model.layers):
        own = {n.split(".", 2)[2]: v for n, v in w.items() if n.startswith(f"layers.{i}.")}
        attention = {
            n.removeprefix("self_attn."): v for n, v in own.items() if n.startswith("self_attn.")
        }
        m = block.residual_multiplier
        y = reference(block.self_attn, attention, rms(own, "input_layernorm", h))
        if block.has_post_norms:
            y = rms(own, "post_attention_layernorm", y)
        h = h + m * y
        before = "pre_feedforward_layernorm" if block.has_post_norms else "post_attention_layernorm"
        both = functional.linear(rms(own, before, h), own["mlp.gate_up_proj.weight"])
        gate, up = both.chunk(2, -1)
        y = functional.linear(functional.silu(gate) * up, own["mlp.down_proj.weight"])
        if block.has_post_norms:
            y = rms(own, "post_feedforward_layernorm", y)
        h = h + m * y
        streams.append(h)
    logits = functional.linear(rms(w, "norm", h), w["lm_head.weight"]) / model.logits_scaling
    if model.logits_soft_cap:
        logits = model.logits_soft_cap * torch.tanh(logits / model.logits_soft_cap)
    return logits, streams


def close(got: np.ndarray, wanted: list[torch.Tensor]) -> None:
    expected = torch.cat(wanted).numpy()
    assert got.dtype == np.float32 and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=3e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", MODELS)
def test_steps(name: str) -> None:
    models, numbers = compiled()
    model, w = MODELS[name](), numbers[name]
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, VOCAB, n) for n in np.sum(STEPS, 0)]
    wanted = [oracle(model, w, text) for text in texts]
    n = 3 if name == "variable" else 1

    def feed(positions: list[np.ndarray]) -> list[np.ndarray]:
        tokens = np.concatenate([text[p] for text, p in zip(texts, positions, strict=True)])
        return [tokens, np.ones(n, np.int64)]

    starts = np.zeros(3, int)
    for outputs, counts in zip(run_steps(models[name], cache_params(), feed), STEPS, strict=True):
        spans = [range(a, a + c) for a, c in zip(starts, counts, strict=True)]
        starts = starts + counts

        def rows(values: list[torch.Tensor], spans: list[Any] = spans) -> list[torch.Tensor]:
            return [value[list(span)] for value, span in zip(values, spans, strict=True)]

        logits = rows([y for y, _ in wanted])
        close(outputs[0], [y[-1:] for y in logits])
        if name == "last":
            close(outputs[1], [h[-1:] for h in rows([s[-1] for _, s in wanted])])
        elif name == "selected":
            close(outputs[1], rows([torch.cat([s[1], s[0]], -1) for _, s in wanted]))
        elif name == "variable":
            last = [[max(len(y) - n + i, 0) for i in range(n)] for y in logits]
            close(outputs[1], [y[places] for y, places in zip(logits, last, strict=True)])
            np.testing.assert_array_equal(outputs[2], [0, 3, 6, 9])
        else:
            close(outputs[1], logits)
            np.testing.assert_array_equal(outputs[2], np.cumsum([0, *counts]))
            streams = rows([s[-1] for _, s in wanted])
            is_normed = name == "gemma"
            close(outputs[3], [rms(w, "norm", h) for h in streams] if is_normed else streams)


def test_equal_layers_share_their_kernels_and_table() -> None:
    """Eight layers are the kernels of two, and one table of angles, which is made at load."""
    kernels, tables = [], []
    for count in (2, 8):
        model = make(count=count)
        model.state_dict()
        inputs = [cpu_tensor(DType.int64, ["total_seq_len"]), cpu_tensor(DType.int64, [1])]
        graph = build(
            "layers",
            Module(),
            cache_params(num_layers=count),
            inputs,
            lambda tokens, n, offsets, cache, model=model: model(tokens, cache, n, offsets),
        )
        manifest = session().compile(graph).manifest
        (program,) = [each for each in manifest["programs"] if each["name"] == "layers"]
        kernels.append({step["kernel"] for step in program["steps"]})
        names = [each["name"] for each in manifest["weights"]]
        tables.append(sum(name.startswith("initialize_") and "cos" in name for name in names))
    assert kernels[0] == kernels[1]
    assert tables == [1, 1]


def test_weight_names() -> None:
    block = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj mlp.gate_up_proj"
    names = [*block.split(), "mlp.down_proj", "input_layernorm", "post_attention_layernorm"]
    whole = ["embed_tokens", "norm", "lm_head", *(f"layers.{i}.{n}" for i in (0, 1) for n in names)]
    assert set(make().raw_state_dict()) == {f"{name}.weight" for name in whole}
    gemma = set(make(has_post_norms=True).raw_state_dict()) - set(make().raw_state_dict())
    assert gemma == {
        f"layers.{i}.{n}_feedforward_layernorm.weight" for i in (0, 1) for n in ("pre", "post")
    }


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: make(target_layer_ids=[2]), r"target_layer_ids below 2, but got \[2\]"),
        (lambda: make(return_hidden_states=Hidden.SELECTED_LAYERS), "but got none"),
        (
            lambda: nn.TransformerBlock(norm(), norm(), norm(), norm(), post_mlp_norm=norm()),
            "both or neither",
        ),
    ],
)
def test_refused(build_it: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_it()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"return_logits": Logits.VARIABLE}, "a size other than 1"),
        ({"return_hidden_states": Hidden.LAST_PER_DEVICE}, "hidden states by device"),
        ({"subgraph_layer_groups": [[0, 2]]}, r"different layers below 2, but got \[\[0, 2\]\]"),
    ],
)
def test_refused_when_staged(options: dict[str, Any], message: str) -> None:
    model = make(**options)
    model.state_dict()
    inputs = [cpu_tensor(DType.int64, ["total_seq_len"]), cpu_tensor(DType.int64, [1])]
    with pytest.raises((ValueError, NotImplementedError), match=message):
        build("refused", Module(), cache_params(), inputs, lambda t, n, o, c: model(t, c, n, o))
