# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs models with a paged cache, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from compiling import session, to_array
from kvern import models
from kvern.graph import Module
from kvern.kv_cache import PagedKVCacheManager, TextContext
from kvern.nn import ReturnLogits

PAGE = 8


class Runner:
    """A compiled model that returns all logits, and its cache."""

    def __init__(
        self, model: Any, params: Any, total_num_pages: int = 40, window: int | None = None
    ) -> None:
        self.model = model
        self.params = params
        self.manager = PagedKVCacheManager(
            params, session(), total_num_pages, max_batch_size=4, window=window
        )
        self._made = 0

    def start(self, texts: Sequence[np.ndarray]) -> list[TextContext]:
        """Claims a request for each text."""
        contexts = []
        for text in texts:
            self._made += 1
            contexts.append(TextContext(self._made, text))
            self.manager.claim(self._made)
        return contexts

    def step(
        self,
        contexts: Sequence[TextContext],
        lengths: Sequence[int] | None = None,
        following: Sequence[int] | None = None,
        greedy: bool = False,
    ) -> list[np.ndarray]:
        """Computes the next tokens of each text and returns their logits, text by text.

        Args:
            contexts: The texts.
            lengths: How many tokens of each; all by default.
            following: The token that follows each; none by default.
            greedy: Whether the likeliest token follows.
        """
        for context, length in zip(contexts, lengths or [], strict=False):
            context.active_length = length
        for context in contexts:
            self.manager.alloc(context)
        tokens = np.concatenate([context.next_tokens for context in contexts])
        counts = [context.active_length for context in contexts]
        offsets = np.cumsum([0, *counts]).astype(np.uint32)
        cache = self.manager.runtime_inputs([list(contexts)]).flatten()
        outputs = self.model.execute(tokens, offsets, np.ones(1, np.int64), *cache)
        last, every, bounds = map(to_array, outputs)
        assert last.dtype == np.float32 and every.shape == (len(tokens), last.shape[1])
        np.testing.assert_array_equal(bounds, offsets)
        np.testing.assert_array_equal(last, every[offsets[1:].astype(np.int64) - 1])
        following = last.argmax(axis=-1).tolist() if greedy else following
        for i, context in enumerate(contexts):
            context.update(None if following is None else int(following[i]))
        self.manager.step([list(contexts)])
        return np.split(every, offsets[1:-1])

    def stop(self, contexts: Sequence[TextContext]) -> None:
        """Releases requests."""
        for context in contexts:
            self.manager.release(context.request_id)


def compile_checkpoints(
    checkpoints: Mapping[str, tuple[models.Checkpoint, Any]], **cache: Any
) -> dict[str, Runner]:
    """Compiles models into one executable.

    Args:
        checkpoints: Name to checkpoint and dtype.
        **cache: Parameters of the caches.
    """
    module = Module()
    weights: dict[str, Any] = {}
    params = {}
    for name, (checkpoint, dtype) in checkpoints.items():
        params[name] = models.kv_params(checkpoint.config, dtype=dtype, page_size=PAGE, **cache)
        model = models.build_model(
            checkpoint.config,
            dtype=dtype,
            kv_params=params[name],
            return_logits=ReturnLogits.ALL,
        )
        for weight in model.raw_state_dict().values():
            weight.name = f"{name}/{weight.name}"
        models.build_graph(checkpoint.config, model, params[name], name=name, module=module)
        state = checkpoint.state_dict(dtype)
        weights |= {f"{name}/{key}": value for key, value in state.items()}
    compiled = session().load_all(module, weights_registry=weights)
    return {
        name: Runner(compiled[name], params[name], window=checkpoint.config.cache_window)
        for name, (checkpoint, _) in checkpoints.items()
    }
