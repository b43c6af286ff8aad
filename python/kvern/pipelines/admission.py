# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which requests can run, and how far."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kvern.errors import InputError, InputTypeError
from kvern.pipelines.loading import LoadedModel
from kvern.pipelines.request import SamplingParams
from kvern.pipelines.tokenizer import Tokenizer

__all__ = ["Admission", "Prompt", "admission"]

# Text, tokens, or the messages of a conversation.
Prompt: TypeAlias = "str | Sequence[int] | Sequence[Mapping[str, Any]]"


@dataclass(frozen=True)
class Admission:
    """What bounds a request.

    Attributes:
        tokenizer: Makes tokens of prompts.
        vocab_size: Of the model.
        max_length: The most tokens of a request.
        num_pages: Of the cache.
        page_size: Tokens of a page.
    """

    tokenizer: Tokenizer
    vocab_size: int
    max_length: int
    num_pages: int
    page_size: int

    @property
    def cache_tokens(self) -> int:
        """Tokens that the cache holds."""
        return self.num_pages * self.page_size

    def tokens(self, prompt: Prompt) -> list[int]:
        """Returns the tokens of a prompt.

        Raises:
            TypeError: The prompt is neither text nor tokens nor messages.
            ValueError: It is empty, or a token is none of the model.
        """
        if isinstance(prompt, str):
            tokens = self.tokenizer.encode(prompt)
        elif len(prompt) and isinstance(prompt[0], Mapping):
            text = self.tokenizer.apply_chat_template(prompt)  # pyright: ignore[reportArgumentType]
            tokens = self.tokenizer.encode(text, add_special_tokens=False)
        elif all(isinstance(token, (int, np.integer)) for token in prompt):
            tokens = [int(token) for token in prompt]  # pyright: ignore[reportArgumentType]
        else:
            raise InputTypeError("expected a prompt of text, tokens or messages")
        if wrong := [token for token in tokens if not 0 <= token < self.vocab_size]:
            raise InputError(f"expected tokens from 0 to {self.vocab_size - 1}, but got {wrong[0]}")
        if not tokens:
            raise InputError("expected a prompt of at least one token, but it is empty")
        return tokens

    def new_tokens(self, tokens: list[int], params: SamplingParams) -> int:
        """Returns how many tokens may follow a prompt.

        Raises:
            ValueError: The request can never run: the prompt is too long for the context, or with the tokens that are
                asked for too long for the whole cache.
        """
        if len(tokens) >= self.max_length:
            raise InputError(
                f"expected a prompt of at most {self.max_length - 1} tokens, for the context holds {self.max_length} "
                f"and the text needs one, but got {len(tokens)}"
            )
        room = self.max_length - len(tokens)
        wanted = room if params.max_new_tokens is None else min(params.max_new_tokens, room)
        # The last token that is generated is not computed with.
        fitting = self.cache_tokens - len(tokens) + 1
        least = 1 if params.max_new_tokens is None else wanted
        if fitting < least:
            needed = -(-(len(tokens) + least - 1) // self.page_size)
            raise InputError(
                f"expected a request that fits the cache, but {len(tokens)} tokens of the prompt and {least} new ones "
                f"need {needed} pages of {self.page_size} tokens, and the cache has {self.num_pages}"
            )
        return min(wanted, fitting)


def admission(
    loaded: LoadedModel,
    *,
    max_batch_size: int,
    max_length: int | None,
    max_cache_bytes: int | None,
) -> Admission:
    """Returns the bounds of requests, and with them the size of the cache; see `TextGeneration`.

    Raises:
        ValueError: A bound is out of range, or the cache holds no page.
    """
    context, params = loaded.config.max_seq_len, loaded.kv_params
    if max_length is not None and not 2 <= max_length <= context:
        raise InputError(
            f"expected max_length from 2 to the context of {context} tokens, but got {max_length}"
        )
    if max_batch_size < 1:
        raise InputError(f"expected max_batch_size >= 1, but got {max_batch_size}")
    length = max_length or context
    if max_cache_bytes is None:
        max_cache_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    pages = max_batch_size * -(-length // params.page_size)
    pages = min(pages, max_cache_bytes // params.bytes_per_block)
    if pages < 1:
        raise InputError(
            f"expected max_cache_bytes to hold a page of {params.bytes_per_block} bytes, but got {max_cache_bytes}"
        )
    vocab = loaded.config.vocab_size
    return Admission(loaded.tokenizer, vocab, length, pages, params.page_size)
