# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interleaved timing: every contender once a round, so that a noisy minute hits all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: median, and the quartiles around it."""

    median: float
    low: float
    high: float
    rounds: int


def interleave(
    contenders: Mapping[str, Callable[[], object]],
    seconds: float = 2.0,
    min_rounds: int = 5,
    max_rounds: int = 200,
) -> dict[str, Timing]:
    """Times each contender once a round until `seconds` have passed for all of them together.

    Two calls of each come first, untimed.
    """
    for run in contenders.values():
        run()
        run()
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    end = time.perf_counter() + seconds
    for round_number in range(max_rounds):
        if round_number >= min_rounds and time.perf_counter() > end:
            break
        # Another one begins each round: none always runs after the same neighbour.
        first = round_number % len(names)
        for name in names[first:] + names[:first]:
            run = contenders[name]
            start = time.perf_counter()
            run()
            samples[name].append(time.perf_counter() - start)
    return {name: _summarize(values) for name, values in samples.items()}


def _summarize(values: list[float]) -> Timing:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Timing(median, low, high, len(values))
