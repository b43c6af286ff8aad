# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of rotary embeddings against those of transformers, and formulas in NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from compiling import run, session
from kvern import nn
from kvern.graph import Graph, Module
from transformers import PretrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

THETA, DIM, CONTEXT = 10000.0, 16, 64
SHORT, LONG = [1.0 + 0.1 * i for i in range(8)], [2.0 + 0.5 * i for i in range(8)]
SIZES = (48, 3, THETA, CONTEXT)
YARN = {"factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}
ROPES = {
    "plain": nn.RotaryEmbedding(*SIZES),
    "linear": nn.RotaryEmbedding(*SIZES, scaling_params=nn.LinearScalingParams(4.0)),
    "llama3": nn.Llama3RotaryEmbedding(
        *SIZES, scaling_params=nn.Llama3RopeScalingParams(8.0, 1.0, 4.0, 256)
    ),
    "longrope": nn.LongRoPERotaryEmbedding(
        *SIZES, scaling_params=nn.LongRoPEScalingParams(SHORT, LONG, 32, 128)
    ),
    "yarn": nn.YarnRotaryEmbedding(
        *SIZES,
        scaling_params=nn.YarnScalingParams(
            factor=4.0,
            beta_fast=32.0,
            beta_slow=1.0,
            original_max_position_embeddings=32,
            truncate=True,
        ),
    ),
    "deepseek": nn.DeepseekYarnRotaryEmbedding(
        DIM,
        3,
        THETA,
        CONTEXT,
        scaling_params=nn.DeepseekYarnRopeScalingParams(40.0, 32, 32, 1, 1.0, 0.5),
    ),
    "dynamic": nn.DynamicRotaryEmbedding(*SIZES),
}


@functools.cache
def tables() -> dict[str, np.ndarray]:
    """All tables, of one executable."""
    module = Module()
    for name, rope in ROPES.items():
        with Graph(name, input_types=[], module=module) as graph:
            graph.output(rope.freqs_cis_base())
    return {name: run(model, [])[0] for name, model in session().load_all(module).items()}


def reference(kind: str, seq_len: int | None = None, **parameters: Any) -> tuple[np.ndarray, float]:
    """The frequencies and the attention factor of transformers."""
    config = PretrainedConfig()
    config.hidden_size, config.num_attention_heads, config.head_dim = 48, 3, DIM
    config.max_position_embeddings = parameters.pop("max_position_embeddings", CONTEXT)
    config.original_max_position_embeddings = parameters.get("original_max_position_embeddings")
    config.rope_theta = THETA
    given = {"rope_type": kind, "rope_theta": THETA, **parameters}
    config.rope_parameters = given
    made, factor = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=seq_len)
    return made.double().numpy(), factor


def table(frequencies: np.ndarray, rows: range, factor: float = 1.0) -> np.ndarray:
    angles = np.outer(rows, frequencies)
    return factor * np.stack([np.cos(angles), np.sin(angles)], -1)


def test_plain_and_linear() -> None:
    exact = THETA ** (-np.arange(0, DIM, 2) / DIM)
    for name, divisor in (("plain", 1), ("linear", 4)):
        assert tables()[name].shape == (2 * CONTEXT, DIM // 2, 2)
        wanted = table(exact / divisor, range(2 * CONTEXT))
        np.testing.assert_allclose(tables()[name], wanted, atol=1e-7, rtol=0)
    got, _ = reference("linear", factor=4.0)
    np.testing.assert_allclose(got, exact / 4, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters", "rows"),
    [
        (
            "llama3",
            {
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 256,
            },
            2 * CONTEXT,
        ),
        ("yarn", {**YARN, "original_max_position_embeddings": 32}, CONTEXT),
    ],
)
def test_scaled(name: str, parameters: dict[str, Any], rows: int) -> None:
    frequencies, factor = reference(name, **parameters)
    wanted = table(frequencies, range(rows), factor)
    np.testing.assert_allclose(tables()[name], wanted, atol=3e-5, rtol=0)
    np.testing.assert_allclose(ROPES[name].frequencies(), frequencies, rtol=1e-6)


def test_yarn_of_deepseek() -> None:
    frequencies, factor = reference(
        "yarn",
        factor=40.0,
        beta_fast=32,
        beta_slow=1,
        mscale=1.0,
        mscale_all_dim=0.5,
        original_max_position_embeddings=32,
    )
    got, rope = tables()["deepseek"], ROPES["deepseek"]
    np.testing.assert_allclose(got, table(frequencies, range(CONTEXT), factor), atol=3e-5, rtol=0)
    growth = 0.1 * 0.5 * np.log(40.0) + 1
    assert rope.compute_scale() == pytest.approx(growth**2 / 4)
    assert rope.compute_scale(0.5) == 0.5


def test_longrope() -> None:
    common = {
        "short_factor": SHORT,
        "long_factor": LONG,
        "original_max_position_embeddings": 32,
        "max_position_embeddings": 128,
    }
    short, factor = reference("longrope", seq_len=20, factor=4.0, **common)
    long, _ = reference("longrope", seq_len=100, factor=4.0, **common)
    wanted = np.concatenate([table(short, range(32)), table(long, range(32, 2 * CONTEXT))])
    np.testing.assert_allclose(tables()["longrope"], wanted, atol=3e-5, rtol=0)
    # transformers multiplies cosines and sines.
    assert ROPES["longrope"].compute_scale() == pytest.approx(factor**2 / 4)


def test_dynamic() -> None:
    got = tables()["dynamic"]
    for position in (0, 1, CONTEXT - 1, CONTEXT, 100, 2 * CONTEXT - 1):
        length = position + 1
        frequencies, _ = reference("dynamic", seq_len=max(length, CONTEXT), factor=1.0)
        wanted = table(frequencies, range(position, length))
        np.testing.assert_allclose(got[position : position + 1], wanted, atol=3e-5, rtol=0)


def test_a_table_of_long_context_is_made_once_at_load() -> None:
    """The graph has the formula, each of the uses the same table, and runs do not compute it."""
    rope = nn.RotaryEmbedding(256, 2, 500000.0, 8192)
    with Graph("uses", input_types=[]) as graph:
        graph.output(rope.freqs_cis[-1], rope.freqs_cis[5], rope.freqs_cis[9])
    assert len(str(graph)) < 20_000
    model = session().load(graph)
    exact = 500000.0 ** (-np.arange(0, 128, 2) / 128)
    for row, got in zip((16383, 5, 9), run(model, []), strict=True):
        wanted = table(exact, range(row, row + 1)).reshape(-1)
        np.testing.assert_allclose(got, wanted, atol=1e-7, rtol=0)


def test_refused() -> None:
    with pytest.raises(ValueError, match="even head_dim, but got 3"):
        nn.RotaryEmbedding(3, 1, THETA, 4)
    with pytest.raises(ValueError, match="theta above 0, but got -1"):
        nn.RotaryEmbedding(4, 1, -1.0, 4)
    with pytest.raises(TypeError, match="to be LinearScalingParams, but got Llama3"):
        params = nn.Llama3RopeScalingParams(8.0, 1.0, 4.0, 8192)
        nn.RotaryEmbedding(4, 1, THETA, 4, scaling_params=params)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="factor above 0, but got 0"):
        nn.LinearScalingParams(0.0)
    with pytest.raises(ValueError, match=r"high_freq_factor above low_freq_factor \(4"):
        nn.Llama3RopeScalingParams(8.0, 4.0, 1.0, 8192)
    with pytest.raises(ValueError, match=r"8 numbers as long_factor.*got 1"):
        params = nn.LongRoPEScalingParams(SHORT, [1.0], 32, 64)
        nn.LongRoPERotaryEmbedding(*SIZES, scaling_params=params)
