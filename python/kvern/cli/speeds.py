# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast text was generated, and what the machine allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvern.pipelines import Generation, TextGeneration

__all__ = ["speeds"]


def speeds(
    generator: TextGeneration, requests: Sequence[Generation], seconds: float, loading: float
) -> list[str]:
    """Returns lines that tell it.

    Args:
        generator: What generated.
        requests: What it was asked for.
        seconds: That generating took.
        loading: Seconds until then.
    """
    phases = ", ".join(f"{name} {s:.2f}" for name, s in generator.loaded.seconds.items())
    lines = [f"load    {loading:.2f} s ({phases})"]
    statistics = generator.statistics
    for name, step in (("prompt", statistics.prompt), ("decode", statistics.decode)):
        if step.tokens and step.seconds:
            lines.append(
                f"{name:7} {step.tokens} tokens in {step.seconds:.2f} s, {step.tokens / step.seconds:.1f} tokens/s"
            )
    if statistics.decode.seconds:
        rate, limit = statistics.decode.bytes / statistics.decode.seconds, generator.read_limit()
        lines[-1] += (
            f", {rate / 1e9:.1f} GB/s: {rate / limit:.0%} of the {limit / 1e9:.1f} GB/s "
            f"that {generator.loaded.model.num_threads} thread(s) of this machine read"
        )
    if len(requests) > 1:
        made = sum(len(request.tokens) for request in requests)
        lines.append(
            f"in all  {len(requests)} prompts, {made} tokens in {seconds:.2f} s, {made / seconds:.1f} tokens/s"
        )
    if any(request.params.temperature and request.params.seed is None for request in requests):
        lines.append(f"seed    {', '.join(str(request.seed) for request in requests)}")
    return lines
