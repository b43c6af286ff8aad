# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A request on its way: tokens become text, until something ends it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from kvern.errors import ExecutionError
from kvern.kv_cache import TextContext
from kvern.pipelines.request import FinishReason, GenerationResult, SamplingParams, TokenLogprobs
from kvern.pipelines.text_stream import StopMatcher
from kvern.pipelines.tokenizer import Tokenizer

__all__ = ["Generation"]


class Generation:
    """A request that was submitted. Iterating gives its text piece by piece, as it is generated.

    Who waits for it does the work: it runs steps of all requests until its own has something to give. So requests of
    several threads share their steps, and there is no thread in the background.
    """

    def __init__(
        self,
        request_id: int,
        prompt: list[int],
        params: SamplingParams,
        *,
        seed: int,
        max_new_tokens: int,
        max_length: int,
        tokenizer: Tokenizer,
        advance: Callable[[Generation], None],
        cancel: Callable[[Generation], None],
    ) -> None:
        """Made by `TextGeneration.submit`."""
        self.request_id = request_id
        self.params = params
        self.seed = seed
        self.prompt = prompt
        self.tokens: list[int] = []
        self.logprobs: list[TokenLogprobs] | None = None if params.logprobs is None else []
        self.cached_tokens: int | None = None
        self.finish_reason: FinishReason | None = None
        self.context: Any = TextContext(request_id, prompt, max_length)
        self._max_new_tokens = max_new_tokens
        self._max_length = max_length
        self._eos_ids = frozenset() if params.ignore_eos else tokenizer.eos_ids
        self._stream = tokenizer.stream(continues=True)
        self._matcher = StopMatcher(params.stop)
        self._pieces: deque[str] = deque()
        self._text: list[str] = []
        self._error: BaseException | None = None
        self._advance = advance
        self._cancel = cancel
        self._start = time.perf_counter()
        self._first = self._end = self._start

    @property
    def is_done(self) -> bool:
        """Whether it has ended; pieces may be left to take."""
        return self.finish_reason is not None or self._error is not None

    @property
    def has_news(self) -> bool:
        """Whether there is a piece to take, or no more to come."""
        return bool(self._pieces) or self.is_done

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Returns the next piece of text, never empty.

        Raises:
            RuntimeError: A step failed; the request has ended.
        """
        while not self._pieces:
            if self._error is not None:
                raise ExecutionError(f"the request has ended: {self._error}") from self._error
            if self.finish_reason is not None:
                raise StopIteration
            self._advance(self)
        return self._pieces.popleft()

    def result(self) -> GenerationResult:
        """Waits for the end.

        Returns:
            The result, with the whole text also when some of it was taken by iterating.

        Raises:
            RuntimeError: A step failed; the request has ended.
        """
        for _ in self:
            pass
        assert self.finish_reason is not None
        return GenerationResult(
            "".join(self._text),
            list(self.tokens),
            self.finish_reason,
            len(self.prompt),
            self.cached_tokens or 0,
            self.seed,
            None if self.logprobs is None else list(self.logprobs),
            self._first - self._start,
            self._end - self._start,
        )

    def cancel(self) -> None:
        """Ends the request and frees its pages; its text so far stays. Nothing happens when it has ended."""
        self._cancel(self)

    def restart(self) -> None:
        """Forgets what is in the cache; the tokens stay. For the scheduler."""
        self.context = TextContext(self.request_id, [*self.prompt, *self.tokens], self._max_length)

    def accept(self, token: int) -> None:
        """Takes the next token."""
        if not self.tokens:
            self._first = time.perf_counter()
        self.tokens.append(token)
        if token in self._eos_ids:
            self.finish("stop")
            return
        text, stopped = self._matcher.push(self._stream.push(token))
        self._show(text)
        if stopped:
            self._matcher.finish()
            self._close("stop")
        elif len(self.tokens) >= self._max_new_tokens:
            self.finish("length")

    def finish(self, reason: FinishReason) -> None:
        """Ends the text with what was held back."""
        text, stopped = self._matcher.push(self._stream.finish())
        self._show(text)
        if not stopped:
            self._show(self._matcher.finish())
        self._close(reason)

    def fail(self, error: BaseException) -> None:
        """Ends the request without a result."""
        self._error = error

    def _show(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._pieces.append(text)

    def _close(self, reason: FinishReason) -> None:
        self._end = time.perf_counter()
        # Last: another thread may look at it.
        self.finish_reason = reason
