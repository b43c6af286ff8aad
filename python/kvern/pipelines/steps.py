# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One step: the tokens of a batch through the model, and the next token of each request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvern.driver import Buffer
from kvern.errors import ExecutionError
from kvern.pipelines.generation import Generation
from kvern.pipelines.loading import LoadedModel
from kvern.pipelines.request import TokenLogprobs
from kvern.pipelines.sampling import FrequencyData

__all__ = ["Statistics", "StepRunner", "StepTotals", "token_logprobs"]

_ONE = np.ones(1, np.int64)


@dataclass
class StepTotals:
    """What steps of one kind did.

    Attributes:
        steps: How many there were.
        tokens: Tokens that they computed.
        seconds: Time that they took, sampling included.
        bytes: Bytes of weights and of the cache that they read.
    """

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    bytes: int = 0


@dataclass
class Statistics:
    """What steps did: those that hold a part of a prompt, and those in which all requests decode."""

    prompt: StepTotals = field(default_factory=StepTotals)
    decode: StepTotals = field(default_factory=StepTotals)


class StepRunner:
    """Runs a model and its sampler on batches of requests."""

    def __init__(self, loaded: LoadedModel, manager: Any) -> None:
        """Takes a model of the inputs that `kvern.models.build_graph` gives it."""
        self._samplers = loaded.samplers
        self._model = loaded.model
        self._manager = manager
        self._weight_bytes = loaded.model.fixed_bytes
        params = manager.params
        self._token_bytes = params.bytes_per_block // params.page_size
        self.statistics = Statistics()

    def run(self, batch: Sequence[Generation]) -> None:
        """Computes the active tokens of requests and gives those whose tokens are all computed their next one.

        Raises:
            RuntimeError: The model failed.
        """
        start = time.perf_counter()
        contexts = [request.context for request in batch]
        counts = [context.active_length for context in contexts]
        ends = [c.processed_length + n for c, n in zip(contexts, counts, strict=True)]
        complete = [end == len(c.tokens) for c, end in zip(contexts, ends, strict=True)]
        is_decode = all(request.tokens for request in batch) and sum(counts) == len(batch)
        logits = self.logits(contexts)
        chosen = self._choose(batch, logits, ends)
        for context, token, is_complete in zip(contexts, chosen, complete, strict=True):
            context.update(token if is_complete else None)
        self._manager.step([contexts])
        for i, request in enumerate(batch):
            if not complete[i]:
                continue
            if request.logprobs is not None:
                row, count = logits.to_numpy()[i], request.params.logprobs or 0
                request.logprobs.append(token_logprobs(row, chosen[i], count))
            request.accept(chosen[i])
        totals = self.statistics.decode if is_decode else self.statistics.prompt
        totals.steps += 1
        totals.tokens += sum(counts)
        totals.bytes += self.bytes_read(ends)
        totals.seconds += time.perf_counter() - start

    def logits(self, contexts: list[Any]) -> Buffer:
        """Returns those of the last active token of each context, which has pages: float32 `[batch, vocab]`."""
        tokens = np.concatenate([context.next_tokens for context in contexts])
        offsets = np.zeros(len(contexts) + 1, np.uint32)
        np.cumsum([context.active_length for context in contexts], out=offsets[1:])
        cache = self._manager.runtime_inputs([contexts]).flatten()
        return self._model.execute(tokens, offsets, _ONE, *cache)[0]

    def bytes_read(self, lengths: Sequence[int]) -> int:
        """Returns how many bytes a step reads: the weights, and so many tokens of each sequence in the cache."""
        return self._weight_bytes + sum(lengths) * self._token_bytes

    def _choose(self, batch: Sequence[Generation], logits: Buffer, ends: list[int]) -> list[int]:
        """The next token of each request, were all its tokens computed."""
        params = [request.params for request in batch]
        has_penalties = any(each.has_penalties for each in params)
        chosen = self._samplers(has_penalties).execute(
            logits,
            np.array([each.temperature for each in params], np.float32),
            np.array([each.top_k for each in params], np.int64),
            np.array([each.top_p for each in params], np.float32),
            np.array([each.min_p for each in params], np.float32),
            np.array([request.seed for request in batch], np.uint64),
            np.array(ends, np.uint64),
            *(_penalties(batch) if has_penalties else ()),
        )
        tokens: list[int] = chosen[0].to_numpy().tolist()
        if min(tokens) < 0:
            raise ExecutionError("expected logits that are finite, but the model gave others")
        return tokens


def _penalties(batch: Sequence[Generation]) -> list[np.ndarray[Any, Any]]:
    """What a sampler with penalties takes besides."""
    counted = [
        [*request.prompt, *request.tokens] if request.params.has_penalties else []
        for request in batch
    ]
    counts = FrequencyData.of(counted)
    names = ("frequency_penalty", "presence_penalty", "repetition_penalty")
    rows = [np.array([getattr(r.params, name) for r in batch], np.float32) for name in names]
    return [counts.data, counts.offsets, *rows]


def token_logprobs(logits: np.ndarray[Any, Any], token: int, count: int) -> TokenLogprobs:
    """Log-probabilities of a row of logits `[vocab]`: of a token and of the `count` likeliest ones."""
    row = logits.astype(np.float64)
    row -= row.max()
    row -= np.log(np.exp(row).sum())
    count = min(count, row.size)
    best = np.argpartition(-row, count - 1)[:count] if count else np.empty(0, np.int64)
    # Equal ones by their number, as the sampler takes the first of them.
    best = best[np.lexsort((best, -row[best]))]
    return TokenLogprobs(token, float(row[token]), tuple((int(i), float(row[i])) for i in best))
