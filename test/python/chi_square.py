# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether tokens may have been drawn from a distribution: Pearson's test."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_drawn(tokens: Any, probabilities: Any) -> None:
    """Checks counts against probabilities `[vocab]`, far beyond what chance makes of right ones.

    Tokens of probability 0 must not occur. The statistic has mean k and variance 2 k for k + 1 tokens.
    """
    p = np.asarray(probabilities, np.float64) / np.sum(probabilities, dtype=np.float64)
    counts = np.bincount(np.asarray(tokens).reshape(-1), minlength=p.size)
    assert counts.size == p.size
    assert not counts[p == 0].any()
    expected = counts.sum() * p[p > 0]
    assert expected.min() > 5, "too few tokens for this test"
    statistic = ((counts[p > 0] - expected) ** 2 / expected).sum()
    k = expected.size - 1
    assert statistic < k + 5 * np.sqrt(2 * k) + 1e-9, f"{statistic} for {k} degrees of freedom"
