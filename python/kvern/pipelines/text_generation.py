# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text from a checkpoint, for many requests at once."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import overload

from kvern.dtype import DType
from kvern.engine.report import machine_limits
from kvern.errors import InputError
from kvern.graph import DeviceRef
from kvern.interrupts import uninterrupted
from kvern.kv_cache import InsufficientBlocksError, PagedKVCacheManager
from kvern.pipelines.admission import Prompt, admission
from kvern.pipelines.generation import Generation
from kvern.pipelines.loading import LoadedModel, Progress, load_model
from kvern.pipelines.request import GenerationResult, SamplingParams
from kvern.pipelines.scheduler import Scheduler
from kvern.pipelines.steps import Statistics, StepRunner
from kvern.pipelines.tokenizer import Tokenizer

__all__ = ["TextGeneration"]


class TextGeneration:
    """Generates text with the model of a checkpoint.

    Requests of different lengths share the steps of the model (continuous batching); long prompts are computed in
    parts, so that others go on meanwhile; prompts that begin alike share the pages of the cache. Its methods may be
    called from several threads.

    What a seed fixes: the random choice at each position is a function of the seed and the position alone. The logits
    that it chooses from may differ in their last bits with the number of rows that a step has, as sums are taken in
    another order: so a request gives the same tokens alone and among others, but for ties within rounding. The same
    requests submitted in the same order give the same bits.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "smollm2",
        *,
        device: DeviceRef | None = None,
        dtype: DType | None = None,
        cache_dtype: DType | None = None,
        page_size: int = 128,
        max_batch_size: int = 8,
        max_length: int | None = None,
        max_step_tokens: int = 512,
        max_cache_bytes: int | None = None,
        enable_prefix_caching: bool = True,
        num_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Loads a checkpoint, compiles its model and makes its cache.

        Args:
            model: A Hugging Face directory, a `.gguf` file, or the name "smollm2".
            device: Where it runs: the host CPU.
            dtype: Element type of weights and activations; None for the weights as they are stored.
            cache_dtype: Of keys and values; None for that of the activations. int8 and float8_e4m3fn have scales, and
                those are of `kvern.nn.kv_cache.KVCacheQuantizationConfig`.
            page_size: Tokens of a page of the cache.
            max_batch_size: The most requests of a step; others wait.
            max_length: The most tokens of a request, prompt and new ones; None for the model's context.
            max_step_tokens: The most tokens of a step; more of a prompt wait for the next one.
            max_cache_bytes: Of the cache; None for what `max_batch_size` requests of full length need, but at most a
                quarter of the machine's memory. Memory counts when it is used.
            enable_prefix_caching: Whether prompts that begin alike share pages.
            num_threads: See `InferenceSession`.
            progress: Called with a phase ("read", "compile", "pack"), how much of it is done, of how much (0:
                unknown) and what it is at. What it raises ends the loading.

        Raises:
            OSError: A file is missing.
            ValueError: The checkpoint is damaged, or an option does not fit it.
            NotImplementedError: The model is of an architecture that is not there, or a package is missing.
        """
        self._loaded = load_model(
            model,
            device=device,
            dtype=dtype,
            cache_dtype=cache_dtype,
            page_size=page_size,
            enable_prefix_caching=enable_prefix_caching,
            num_threads=num_threads,
            progress=progress,
        )
        self._admission = admission(
            self._loaded,
            max_batch_size=max_batch_size,
            max_length=max_length,
            max_cache_bytes=max_cache_bytes,
        )
        self._manager = PagedKVCacheManager(
            self._loaded.kv_params,
            self._loaded.session,
            self._admission.num_pages,
            max_batch_size=max_batch_size,
            max_seq_len=self._admission.max_length,
            window=self._loaded.config.cache_window,
        )
        self._runner = StepRunner(self._loaded, self._manager)
        self._scheduler = Scheduler(
            self._manager,
            InsufficientBlocksError,
            max_batch_size=max_batch_size,
            max_step_tokens=max_step_tokens,
        )
        self._lock = threading.RLock()
        self._next_id = 0

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the checkpoint."""
        return self._loaded.tokenizer

    @property
    def loaded(self) -> LoadedModel:
        """The checkpoint, the compiled model, and how long each phase of loading took."""
        return self._loaded

    @property
    def cache(self) -> PagedKVCacheManager:
        """What gives out the pages of the cache."""
        return self._manager

    @property
    def statistics(self) -> Statistics:
        """What the steps did so far."""
        return self._runner.statistics

    def read_limit(self) -> float:
        """Measures, once a process, how many bytes a second the threads of the model can read."""
        return machine_limits(self._loaded.model.num_threads)[1]

    @property
    def max_length(self) -> int:
        """The most tokens of a request, prompt and new ones, if the cache holds as many."""
        return min(self._admission.max_length, self._admission.cache_tokens)

    @property
    def num_requests(self) -> int:
        """Requests that wait or run."""
        return len(self._scheduler.running) + len(self._scheduler.waiting)

    def submit(self, prompt: Prompt, params: SamplingParams | None = None) -> Generation:
        """Adds a request. It runs when a result is waited for: its own, or another one's.

        Args:
            prompt: Text, tokens, or messages (with the checkpoint's chat template).
            params: How tokens are chosen; None for the likeliest each time.

        Returns:
            The request: iterate for its text as it comes, or ask for its `result`.

        Raises:
            ValueError: The prompt is empty, or with its new tokens too long for the context or for the whole cache.
        """
        params = params or SamplingParams()
        tokens = self._admission.tokens(prompt)
        limit = self._admission.new_tokens(tokens, params)
        with self._lock:
            # Compiles it, if it is the first request of its kind.
            self._loaded.samplers(params.has_penalties)
            request_id, self._next_id = self._next_id, self._next_id + 1
            request = Generation(
                request_id,
                tokens,
                params,
                seed=secrets.randbits(64) if params.seed is None else params.seed,
                max_new_tokens=limit,
                max_length=self._admission.max_length,
                tokenizer=self.tokenizer,
                advance=self._advance,
                cancel=self._cancel,
            )
            self._scheduler.add(request)
        return request

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Iterator[str]:
        """Yields the text of a prompt as it is generated; the request ends with the iterator.

        Args:
            prompt: See `submit`.
            params: See `submit`.
        """
        request = self.submit(prompt, params)
        try:
            yield from request
        finally:
            request.cancel()

    # A text is a sequence of texts too: of the two, the first that fits is meant.
    @overload
    def generate(  # pyright: ignore[reportOverlappingOverload]
        self, prompts: str, params: SamplingParams | None = None
    ) -> GenerationResult: ...

    @overload
    def generate(
        self,
        prompts: Sequence[Prompt],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
    ) -> list[GenerationResult]: ...

    def generate(
        self,
        prompts: str | Sequence[Prompt],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
    ) -> GenerationResult | list[GenerationResult]:
        """Generates the texts of prompts, all at once.

        Args:
            prompts: One text, or several prompts, each as for `submit`.
            params: For all of them, or one for each.

        Returns:
            The result of a text, or a list of results in the order of the prompts.

        Raises:
            ValueError: See `submit`; then no prompt is run.
        """
        many: Sequence[Prompt] = [prompts] if isinstance(prompts, str) else prompts
        each = params if isinstance(params, Sequence) else [params] * len(many)
        if len(each) != len(many):
            raise InputError(f"expected params for {len(many)} prompts, but got {len(each)}")
        requests: list[Generation] = []
        try:
            for prompt, chosen in zip(many, each, strict=True):
                requests.append(self.submit(prompt, chosen))
            results = [request.result() for request in requests]
        finally:
            # Of an exception, Ctrl-C too, nothing is left.
            for request in requests:
                request.cancel()
        return results[0] if isinstance(prompts, str) else results

    def step(self) -> bool:
        """Runs one step of the requests that are ready.

        Returns:
            Whether there was anything to do.

        Raises:
            RuntimeError: The model failed; the requests of the step have ended.
        """
        with self._lock, uninterrupted():
            return self._step()

    def _step(self) -> bool:
        batch: list[Generation] = []
        try:
            batch = self._scheduler.schedule()
            if not batch:
                return False
            for request in batch:
                if request.cached_tokens is None:
                    request.cached_tokens = request.context.processed_length
            self._runner.run(batch)
        except BaseException as error:
            for request in batch or list(self._scheduler.running):
                self._scheduler.remove(request)
                request.fail(error)
            raise
        for request in batch:
            if request.is_done:
                self._scheduler.remove(request)
        return True

    def _advance(self, request: Generation) -> None:
        """Runs steps until a request has something to give; another thread may have done so."""
        with self._lock:
            if not request.has_news:
                self.step()

    def _cancel(self, request: Generation) -> None:
        with self._lock, uninterrupted():
            self._scheduler.remove(request)
            if not request.is_done:
                request.finish("cancelled")
