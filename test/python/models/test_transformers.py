# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures against transformers in float64: all logits, for prompts, chunks and decoding with a paged cache."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern import models
from models.gguf_files import gguf_tensors, write_gguf
from models.stepping import Runner, compile_checkpoints
from models.tiny import MODELS, expected_logits, reference, save

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("transformers", "gguf")),
    reason="needs transformers and gguf",
)

# Of the largest logit of a text. Measured: 8e-7. bfloat16, of numbers with 8 bits, against the same weights in float64:
# 0.024, and 0.0035 in the mean square; PyTorch's own bfloat16 has 0.015 and 0.003.
FLOAT32, BFLOAT16, BFLOAT16_MEAN = 2e-5, 5e-2, 6e-3
LENGTHS = (19, 1, 10)
STEPS = 20
# Files with pairs of neighbours and divided frequencies, and with offsets in the weights of norms.
GGUF = ("llama", "gemma2")


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runner]:
    """Each model in float32, two of GGUF files, and one in bfloat16, in one executable."""
    folder: Path = tmp_path_factory.mktemp("models")
    opened = {name: models.open_checkpoint(save(name, folder / name)) for name in MODELS}
    wanted: dict[str, Any] = {name: (checkpoint, None) for name, checkpoint in opened.items()}
    wanted["llama-bfloat16"] = (opened["llama"], "bfloat16")
    for name in GGUF:
        path = write_gguf(folder / f"{name}.gguf", reference(name), tensors=scaled_tensors(name))
        wanted[f"{name}-gguf"] = (models.open_checkpoint(path), None)
    return compile_checkpoints(wanted)


def scaled_tensors(name: str) -> dict[str, np.ndarray]:
    """The tensors of a GGUF file, with those that its scaled frequencies are divided by."""
    model = reference(name)
    tensors = gguf_tensors(model)
    if name == "llama":
        scaled = model.model.rotary_emb.inv_freq.double().numpy()
        plain = 500.0 ** (-np.arange(len(scaled)) / len(scaled))
        tensors["rope_freqs.weight"] = (plain / scaled).astype(np.float32)
    return tensors


def texts(seed: int) -> list[np.ndarray]:
    """Texts of unequal lengths with what follows them."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 97, length + STEPS) for length in LENGTHS]


def check(got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


def decode(runner: Runner, whole: list[np.ndarray]) -> list[np.ndarray]:
    """Prompts, then the rest token by token; returns the logits at all positions."""
    contexts = runner.start([text[:length] for text, length in zip(whole, LENGTHS, strict=True)])
    found: list[list[np.ndarray]] = [[] for _ in whole]
    for step in range(STEPS + 1):
        ends = [length + step for length in LENGTHS]
        is_last = step == STEPS
        following = None if is_last else [text[end] for text, end in zip(whole, ends, strict=True)]
        for logits, rows in zip(found, runner.step(contexts, following=following), strict=True):
            logits.append(rows)
    runner.stop(contexts)
    return [np.concatenate(logits) for logits in found]


@pytest.mark.parametrize("name", [*MODELS, *(f"{name}-gguf" for name in GGUF)])
def test_prompts_and_decoding(runners: dict[str, Runner], name: str) -> None:
    whole = texts(1)
    for text, got in zip(whole, decode(runners[name], whole), strict=True):
        check(got, expected_logits(name.removesuffix("-gguf"), text), FLOAT32)


def test_bfloat16(runners: dict[str, Runner]) -> None:
    whole = texts(1)
    for text, got in zip(whole, decode(runners["llama-bfloat16"], whole), strict=True):
        expected = expected_logits("llama", text, is_rounded=True)
        check(got, expected, BFLOAT16)
        mean = np.sqrt(np.square(got - expected).mean())
        assert mean <= BFLOAT16_MEAN * np.abs(expected).max()


@pytest.mark.parametrize("name", MODELS)
def test_chunks(runners: dict[str, Runner], name: str) -> None:
    """Three parts of one prompt, beside others that prefill and decode in the same steps."""
    runner, whole = runners[name], texts(2)
    expected = [expected_logits(name, text) for text in whole]
    contexts = runner.start([whole[0][:33], whole[1][:21], whole[2][:5]])
    for lengths in ((9, 20, 3), (17, 1, 1), (7, 0, 1)):
        active = [i for i, length in enumerate(lengths) if length]
        before = [contexts[i].processed_length for i in active]
        counts = [lengths[i] for i in active]
        found = runner.step([contexts[i] for i in active], counts)
        for i, start, count, got in zip(active, before, counts, found, strict=True):
            check(got, expected[i][start : start + count], FLOAT32)
    runner.stop(contexts)


def test_blocks_of_several_formats(tmp_path: Path) -> None:
    """Each weight runs in its own; the table is one of a format that products do not read."""
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"vocab_size": 33, "hidden_size": 256, "intermediate_size": 96, "head_dim": 32}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(**sizes, **heads, max_position_embeddings=32)
    model = transformers.AutoModelForCausalLM.from_config(config)
    table = np.random.default_rng(0).integers(0, 256, (33, 210), dtype=np.uint8)
    table[:, 208:] = np.array([1e-3], np.float16).view(np.uint8)
    types = {"attn_q.weight": "Q4_0", "attn_v.weight": "Q8_0", "ffn_up.weight": "Q4_1"}
    path = write_gguf(
        tmp_path / "a.gguf",
        model,
        {**types, "output.weight": "Q8_0"},
        blocks={"token_embd.weight": (table, "Q6_K")},
    )
    checkpoint = models.open_checkpoint(path)
    assert set(checkpoint.config.encodings.values()) == {"Q4_0", "Q4_1", "Q6_K", "Q8_0"}
    runners = compile_checkpoints(
        {"blocks": (checkpoint, None), "numbers": (checkpoint, "float32")}
    )
    tokens = np.arange(20)
    got, expected = (runner.step(runner.start([tokens]))[0] for runner in runners.values())
    check(got, expected, FLOAT32)
