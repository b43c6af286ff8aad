# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast a language model reads prompts and generates, with random tokens."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.engine.report import machine_limits

if TYPE_CHECKING:
    from kvern.pipelines.loading import LoadedModel

__all__ = ["Speed", "measure"]

_WARM_UP = 3


@dataclass(frozen=True)
class Speed:
    """Medians of steps of one kind.

    Attributes:
        tokens: Tokens of a step.
        seconds: Time of a step.
        bytes: Bytes of weights and cache that a step reads.
        read_limit: Bytes a second that the machine reads.
    """

    tokens: int
    seconds: float
    bytes: int
    read_limit: float

    def __str__(self) -> str:
        rate = self.bytes / self.seconds
        return (
            f"{self.tokens / self.seconds:9.1f} tokens/s, {self.seconds * 1e3:8.2f} ms a step, {rate / 1e9:6.1f} GB/s, "
            f"{rate / self.read_limit:4.0%} of the read limit"
        )


def measure(loaded: LoadedModel, batch: int, prompt: int, steps: int) -> tuple[Speed, Speed]:
    """Returns the speed of a prompt, of one sequence at a time, and of decoding behind prompts.

    Args:
        loaded: The model.
        batch: Sequences that are decoded together.
        prompt: Tokens of a prompt.
        steps: Steps of decoding; the prompt is measured in as many prompts as there are sequences, at least three.
    """
    from kvern.kv_cache import PagedKVCacheManager, TextContext
    from kvern.pipelines.steps import StepRunner

    params = loaded.kv_params
    room = prompt + steps + _WARM_UP
    pages = batch * -(-room // params.page_size)
    manager = PagedKVCacheManager(params, loaded.session, pages, max_batch_size=batch)
    runner = StepRunner(loaded, manager)
    rng = np.random.default_rng(0)
    limit = machine_limits(loaded.model.num_threads)[1]

    def run(contexts: list[Any]) -> float:
        for context in contexts:
            manager.alloc(context)
        start = time.perf_counter()
        runner.logits(contexts)
        seconds = time.perf_counter() - start
        for context in contexts:
            context.update(int(rng.integers(loaded.config.vocab_size)))
        manager.step([contexts])
        return seconds

    def begin(number: int) -> Any:
        tokens = rng.integers(0, loaded.config.vocab_size, prompt)
        context = TextContext(f"sequence {number}", tokens)
        manager.claim(context.request_id)
        return context

    # The first prompt warms up.
    first = begin(0)
    run([first])
    reading = []
    for number in range(1, max(batch, 3) + 1):
        manager.release(first.request_id)
        first = begin(number)
        reading.append(run([first]))
    contexts = [first]
    for number in range(batch - 1):
        contexts.append(begin(-1 - number))
        reading.append(run(contexts[-1:]))
    decoding = [run(contexts) for _ in range(_WARM_UP + steps)][_WARM_UP:]
    lengths = [prompt + steps // 2] * batch
    return (
        Speed(prompt, statistics.median(reading), runner.bytes_read([]), limit),
        Speed(batch, statistics.median(decoding), runner.bytes_read(lengths), limit),
    )
