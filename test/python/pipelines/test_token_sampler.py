# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens that are sampled: their distribution, what they depend on, masks and penalties."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from chi_square import assert_drawn
from compiling import run, session
from kvern.dtype import DType
from kvern.graph import DeviceRef
from kvern.pipelines.sampling import FrequencyData, SamplingConfig, token_sampler
from op_cases.sampling import kept_tokens, penalized, sampled

CPU = DeviceRef.CPU()
ROWS = 20000
RNG = np.random.default_rng(3)
LOGITS = np.round(RNG.uniform(-1.5, 1.5, 12), 1).astype(np.float32)


@functools.cache
def plain() -> Any:
    return session().load(token_sampler(SamplingConfig(), CPU))


@functools.cache
def full() -> Any:
    config = SamplingConfig(DType.bfloat16, enable_penalties=True, enable_structured_output=True)
    return session().load(token_sampler(config, CPU, return_logits=True))


def inputs(logits: Any, t: float, k: int, p: float, m: float, seed: Any, at: Any) -> list[Any]:
    rows = len(logits)
    values = ((t, np.float32), (k, np.int64), (p, np.float32), (m, np.float32))
    arrays = [np.full(rows, value, kind) for value, kind in values]
    return [logits, *arrays, *(np.broadcast_to(x, rows).astype(np.uint64) for x in (seed, at))]


def draw(*args: Any) -> tuple[Any, Any]:
    return tuple(run(plain(), inputs(*args)))


@pytest.mark.parametrize("by", ["seed", "position"])
@pytest.mark.parametrize(
    "parameters",
    [
        (1.0, 0, 1.0, 0.0),
        (1.7, 0, 1.0, 0.0),
        (0.8, 5, 1.0, 0.0),
        (1.0, -1, 0.85, 0.0),
        (1.2, 9, 0.9, 0.1),
    ],
)
def test_distribution(parameters: Any, by: str) -> None:
    logits = np.broadcast_to(LOGITS, (ROWS, LOGITS.size)).copy()
    numbers = np.arange(ROWS, dtype=np.uint64)
    tokens, logprobs = draw(
        logits, *parameters, *((numbers, 12) if by == "seed" else (11, numbers))
    )
    kept, weights, _ = kept_tokens(LOGITS.astype(np.float64), *parameters)
    probabilities = np.zeros(LOGITS.size)
    probabilities[kept] = weights
    assert_drawn(tokens, probabilities)
    exact = LOGITS.astype(np.float64) - np.log(np.exp(LOGITS.astype(np.float64)).sum())
    np.testing.assert_allclose(logprobs, exact[tokens], atol=1e-5)


def test_neighbours_do_not_matter() -> None:
    logits = RNG.normal(size=(40, 300)).astype(np.float32)
    args = inputs(logits, 1.0, 50, 0.95, 0.0, np.arange(40), np.arange(40) * 3)
    together = run(plain(), args)[0]
    order = RNG.permutation(40)
    np.testing.assert_array_equal(run(plain(), [x[order] for x in args])[0], together[order])
    alone = [run(plain(), [x[i : i + 1] for x in args])[0][0] for i in range(40)]
    np.testing.assert_array_equal(alone, together)


def test_one_sequence_is_no_other() -> None:
    """Equal logits: seeds and positions give sequences that have nothing in common."""
    logits = np.zeros((2000, 1000), np.float32)
    pairs = [(1, np.arange(2000)), (2, np.arange(2000)), (np.arange(2000), 1)]
    first, second, third = (draw(logits, 1.0, 0, 1.0, 0.0, *pair)[0] for pair in pairs)
    for one, other in ((first, second), (first, third), (first[1:], first[:-1])):
        assert (one == other).mean() < 0.01


def test_ties_go_to_the_first() -> None:
    logits = np.zeros((4, 5000), np.float32)
    logits[1, [4321, 4999]] = 1
    logits[2, [17, 18, 4000]] = 2
    logits[3, 3] = -0.0
    np.testing.assert_array_equal(draw(logits, 0.0, 0, 1.0, 0.0, 0, 0)[0], [0, 4321, 17, 0])
    np.testing.assert_array_equal(draw(logits, 1.0, 1, 1.0, 0.0, 0, 0)[0], [0, 4321, 17, 0])
    tokens = draw(np.zeros((500, 100), np.float32), 1.0, 3, 1.0, 0.0, np.arange(500), 0)[0]
    assert set(tokens) == {0, 1, 2}


def test_masks_and_penalties() -> None:
    import ml_dtypes

    rows, vocab = 6, 50
    logits = (RNG.normal(size=(rows, vocab)) * 2).astype(ml_dtypes.bfloat16)
    seen = [[1, 1, 7], [], [49, 49, 49, 0], list(range(50)), [3], [5, 5]]
    counts = FrequencyData.of(seen, room=2)
    allowed = RNG.random((rows, vocab)) < 0.7
    allowed[4] = False
    f, p, r = (RNG.uniform(a, b, rows).astype(np.float32) for a, b in ((0, 1), (-1, 1), (1, 2)))
    args = inputs(logits, 0.9, 0, 0.9, 0.0, np.arange(rows), 5)
    tokens, logprobs, changed = run(full(), [*args, allowed, counts.data, counts.offsets, f, p, r])

    exact = logits.astype(np.float64)
    expected = penalized(np.where(allowed, exact, -np.inf), counts.data, counts.offsets, f, p, r)
    np.testing.assert_allclose(changed, expected, atol=1e-5)
    assert tokens[4] == -1 and np.isnan(logprobs[4])
    softmax = exact - np.log(np.exp(exact).sum(1, keepdims=True))
    for row in (0, 1, 2, 3, 5):
        wanted = sampled(expected[row], np.float32(0.9), 0, np.float32(0.9), 0, row, 5)
        assert wanted[2] > 1e-5 and tokens[row] == wanted[0]
        np.testing.assert_allclose(logprobs[row], softmax[row, tokens[row]], atol=1e-5)


def test_frequency_data() -> None:
    counts = FrequencyData.of([[5, 2, 5], []], room=1)
    np.testing.assert_array_equal(counts.data, [[2, 1], [5, 2], [-1, 0], [-1, 0]])
    np.testing.assert_array_equal(counts.offsets, [0, 3, 4])
    assert FrequencyData.of([]).data.shape == (0, 2)
    with pytest.raises(ValueError, match="expected tokens from 0 to below 2\\^31, but got -4"):
        FrequencyData.of([[1, -4]])
    with pytest.raises(ValueError, match="expected room to be 0 or more, but got -1"):
        FrequencyData.of([[1]], room=-1)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a float DType as in_dtype"):
        SamplingConfig(DType.int32)
    with pytest.raises(TypeError, match="expected enable_penalties to be True or False, but got 1"):
        SamplingConfig(enable_penalties=1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="expected a SamplingConfig, but got None"):
        token_sampler(None, CPU)  # pyright: ignore[reportArgumentType]
