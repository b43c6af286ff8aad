# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draft tokens that are checked: against the definition, and that what comes out is distributed as the target."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from chi_square import assert_drawn
from compiling import run, session
from kvern.graph import DeviceRef, Graph
from kvern.nn.sampling import RejectionSamplerWithResiduals
from kvern.pipelines.acceptance import (
    build_greedy_acceptance_sampler_graph,
    build_stochastic_acceptance_sampler_graph,
    rejection_sampler,
    rejection_sampler_with_residuals,
)
from op_cases.sampling import kept_tokens

CPU = DeviceRef.CPU()
BATCH, STEPS, VOCAB = 20000, 2, 5
RNG = np.random.default_rng(4)
TARGET = RNG.normal(size=(STEPS + 1, VOCAB)).astype(np.float32)
DRAFT = RNG.normal(size=(STEPS, VOCAB)).astype(np.float32)
OFFSETS = (np.arange(BATCH + 1) * (STEPS + 1)).astype(np.uint32)
SEEDS = np.arange(BATCH, dtype=np.uint64)
AT = np.full(BATCH, 9, np.uint64)


def softmax(logits: Any) -> Any:
    weights = np.exp(logits.astype(np.float64))
    return weights / weights.sum(-1, keepdims=True)


def assert_as_target(drafts: Any, outputs: Any, target: Any) -> None:
    """The token at each place of the sequences that get there."""
    first, recovered, bonus = outputs
    places = [np.where(first[:, 0] > i, drafts[:, i], recovered[:, i]) for i in range(STEPS)]
    for i, tokens in enumerate([*places, bonus[:, 0]]):
        assert_drawn(tokens[first[:, 0] >= i], target[i])


@functools.cache
def greedy() -> Any:
    return session().load(build_greedy_acceptance_sampler_graph(CPU))


@functools.cache
def stochastic() -> Any:
    return session().load(build_stochastic_acceptance_sampler_graph(CPU))


@functools.cache
def by_logits() -> Any:
    return session().load(rejection_sampler(CPU))


def test_greedy() -> None:
    rows = np.array([[0, 9, 1], [5, 0, 0], [0, 0, 3], [1, 2, 0], [7, 1, 0], [0, 1, 9]], np.float32)
    drafts = np.array([[1, 0], [0, 1]])
    first, wanted, bonus = run(greedy(), [drafts, rows, np.array([0, 3, 6], np.uint32)])
    np.testing.assert_array_equal(first, [[2], [0]])
    np.testing.assert_array_equal(wanted, [[1, 0], [1, 0]])
    np.testing.assert_array_equal(bonus, [[2], [2]])
    # Tokens of no vocabulary are rejected; there may be no drafts, and no sequences.
    first, *_ = run(greedy(), [np.array([[1, 3], [-1, 0]]), rows, np.array([0, 3, 6], np.uint32)])
    np.testing.assert_array_equal(first, [[1], [0]])
    first, wanted, bonus = run(
        greedy(), [np.zeros((2, 0), np.int64), rows[:2], np.arange(3, dtype=np.uint32)]
    )
    assert first.tolist() == [[0], [0]] and wanted.shape == (2, 0) and bonus.tolist() == [[1], [0]]
    outputs = run(greedy(), [np.zeros((0, 2), np.int64), rows[:0], np.zeros(1, np.uint32)])
    assert [x.shape for x in outputs] == [(0, 1), (0, 2), (0, 1)]


@pytest.mark.parametrize("parameters", [(1.0, 0, 1.0), (0.7, 4, 0.9)])
def test_stochastic_is_unbiased(parameters: Any) -> None:
    drafts = np.broadcast_to(TARGET.argsort(1)[:STEPS, -2], (BATCH, STEPS)).copy()
    kinds = (np.float32, np.int64, np.float32)
    rows = [np.full(BATCH, x, kind) for x, kind in zip(parameters, kinds, strict=True)]
    outputs = run(stochastic(), [drafts, np.tile(TARGET, (BATCH, 1)), OFFSETS, *rows, SEEDS, AT])
    target = np.zeros(TARGET.shape)
    for i, logits in enumerate(TARGET.astype(np.float64)):
        kept, weights, _ = kept_tokens(logits, *parameters, 0.0)
        target[i, kept] = weights
    assert_as_target(drafts, outputs, target)


def test_residuals_are_unbiased() -> None:
    graph = rejection_sampler_with_residuals(CPU)
    with Graph("sampled", input_types=graph.input_types) as graph:
        *inputs, seed, at = (value.tensor for value in graph.inputs)
        sampler = RejectionSamplerWithResiduals(CPU, top_k=0, debug=True)
        graph.output(*sampler(*inputs, seed=seed, position=at))
    q, p = softmax(DRAFT), softmax(TARGET)
    drafts = np.stack([RNG.choice(VOCAB, BATCH, p=row) for row in q], 1)
    *outputs, ratio = run(
        session().load(graph),
        [
            drafts,
            np.broadcast_to(DRAFT, (BATCH, STEPS, VOCAB)).copy(),
            np.tile(TARGET, (BATCH, 1)),
            OFFSETS,
            SEEDS,
            AT,
        ],
    )
    assert_as_target(drafts, outputs, p)
    steps = np.arange(STEPS)
    np.testing.assert_allclose(ratio, p[steps, drafts] / q[steps, drafts], rtol=1e-5)


def test_residuals_of_the_largest_only() -> None:
    """By default both take their first largest token: what the target would have taken comes out."""
    sampler = session().load(rejection_sampler_with_residuals(CPU))
    drafts = np.broadcast_to(DRAFT.argmax(1), (4, STEPS)).copy()
    drafts[3] = TARGET[:STEPS].argmax(1)
    first, recovered, bonus = run(
        sampler,
        [
            drafts,
            np.ascontiguousarray(np.stack([DRAFT] * 3 + [TARGET[:STEPS]])),
            np.tile(TARGET, (4, 1)),
            OFFSETS[:5],
            SEEDS[:4],
            AT[:4],
        ],
    )
    wanted = TARGET.argmax(1)
    places = np.argmin(np.append(drafts == wanted[:STEPS], np.zeros((4, 1), bool), 1), 1)
    np.testing.assert_array_equal(first[:, 0], places)
    np.testing.assert_array_equal(bonus, np.full((4, 1), wanted[-1]))
    for row, place in enumerate(places):
        assert place == STEPS or recovered[row, place] == wanted[place]


def test_by_logits() -> None:
    rows = np.array([[0, 2, 1], [5, 0, 1], [0, 0, 3], [1, 2, 0], [7, 1, 0], [0, 1, 9]], np.float32)
    drafts = np.array([[1, 2], [0, 1]])
    given = np.array([[2.0, 1.5], [0.5, 1.0 + 5e-6]], np.float32)
    zeros = np.zeros(2, np.uint64)
    first, token = run(
        by_logits(), [drafts, given, rows, np.array([0, 3, 6], np.uint32), zeros, zeros]
    )
    np.testing.assert_array_equal(first, [[1], [2]])
    np.testing.assert_array_equal(token, [[0], [2]])
    unknown = run(
        by_logits(),
        [
            np.array([[3, 0]]),
            given[:1],
            rows[:3],
            np.array([0, 3], np.uint32),
            zeros[:1],
            zeros[:1],
        ],
    )
    assert [x.tolist() for x in unknown] == [[[0]], [[1]]]


def test_what_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="expected draft_proposal to be 'argmax'"):
        build_stochastic_acceptance_sampler_graph(CPU, draft_proposal="sampled")
