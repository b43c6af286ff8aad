# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures against transformers in float64: all logits, for prompts, chunks and decoding with a paged cache."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from kvern import models
from models.stepping import Runner, compile_checkpoints
from models.tiny import MODELS, expected_logits, save

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="needs transformers"
)

# Of the largest logit. bfloat16: 8 bits of mantissa through three layers; measured at most 0.02.
FLOAT32, BFLOAT16 = 2e-5, 4e-2
LENGTHS = (19, 1, 10)
STEPS = 20


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runner]:
    """Each model in float32, and one in bfloat16, in one executable."""
    folder: Path = tmp_path_factory.mktemp("models")
    opened = {name: models.open_checkpoint(save(name, folder / name)) for name in MODELS}
    wanted = {name: (checkpoint, None) for name, checkpoint in opened.items()}
    return compile_checkpoints({**wanted, "llama-bfloat16": (opened["llama"], "bfloat16")})


def texts(seed: int) -> list[np.ndarray]:
    """Texts of unequal lengths with what follows them."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 97, length + STEPS) for length in LENGTHS]


def check(got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


CASES = [*((name, name, FLOAT32) for name in MODELS), ("llama-bfloat16", "llama", BFLOAT16)]


@pytest.mark.parametrize(("name", "architecture", "tolerance"), CASES)
def test_prompts_and_decoding(
    runners: dict[str, Runner], name: str, architecture: str, tolerance: float
) -> None:
    runner, whole = runners[name], texts(1)
    expected = [expected_logits(architecture, text) for text in whole]
    contexts = runner.start([text[:length] for text, length in zip(whole, LENGTHS, strict=True)])
    starts = [0] * len(LENGTHS)
    for step in range(STEPS + 1):
        ends = [length + step for length in LENGTHS]
        is_last = step == STEPS
        following = None if is_last else [text[end] for text, end in zip(whole, ends, strict=True)]
        found = runner.step(contexts, following=following)
        for got, want, start, end in zip(found, expected, starts, ends, strict=True):
            check(got, want[start:end], tolerance)
        starts = ends
    runner.stop(contexts)


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
