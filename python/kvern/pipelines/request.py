# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is asked for, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from kvern.errors import InputError, InputTypeError

__all__ = ["FinishReason", "GenerationResult", "SamplingParams", "TokenLogprobs"]

FinishReason: TypeAlias = Literal["stop", "length", "cancelled"]

_MAX_LOGPROBS = 100
_MAX_PENALTY = 100.0


@dataclass(frozen=True)
class SamplingParams:
    """How the tokens of one request are chosen, and when it ends.

    The order of the steps: penalties, temperature, top-k, min-p, top-p.

    Attributes:
        max_new_tokens: The most tokens to generate; None for as many as the context and the cache hold.
        temperature: 0 takes the likeliest token; 1 samples the model's distribution, more makes it flatter.
        top_k: Only so many of the likeliest tokens; 0 for all.
        top_p: Only the likeliest tokens that together have this probability (Holtzman et al., 2019).
        min_p: Only tokens at least so likely, relative to the likeliest (Nguyen et al., 2024).
        repetition_penalty: Divides logits above 0 of tokens that occurred, in the prompt too, and multiplies those
            below 0 (Keskar et al., 2019); 1 for none.
        frequency_penalty: Taken from the logit of a token as often as it occurred.
        presence_penalty: Taken once from the logit of a token that occurred.
        seed: Makes the random choices; None for one from the system.
        stop: Strings that end the text; they are not part of it.
        ignore_eos: Whether to go on after tokens that end a text.
        logprobs: Log-probabilities: None for none, n for those of the chosen and of the n likeliest tokens.
    """

    max_new_tokens: int | None = None
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    seed: int | None = None
    stop: Sequence[str] = ()
    ignore_eos: bool = False
    logprobs: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        object.__setattr__(self, "stop", tuple(self.stop))
        if not all(isinstance(stop, str) and stop for stop in self.stop):
            raise InputError(f"expected stop strings that are not empty, but got {self.stop!r}")
        _check(self, "max_new_tokens", int, 1, math.inf, optional=True)
        _check(self, "temperature", float, 0.0, math.inf)
        _check(self, "top_k", int, 0, math.inf)
        _check(self, "top_p", float, 0.0, 1.0)
        _check(self, "min_p", float, 0.0, 1.0)
        _check(self, "repetition_penalty", float, 0.0, math.inf)
        _check(self, "frequency_penalty", float, -_MAX_PENALTY, _MAX_PENALTY)
        _check(self, "presence_penalty", float, -_MAX_PENALTY, _MAX_PENALTY)
        _check(self, "seed", int, 0, 2**64 - 1, optional=True)
        _check(self, "logprobs", int, 0, _MAX_LOGPROBS, optional=True)
        for name in ("top_p", "repetition_penalty"):
            if getattr(self, name) == 0:
                raise InputError(f"expected {name} to be above 0, but got 0")

    @property
    def has_penalties(self) -> bool:
        """Whether tokens that occurred are less likely, or more."""
        neutral = (1.0, 0.0, 0.0)
        return neutral != (self.repetition_penalty, self.frequency_penalty, self.presence_penalty)


def _check(
    params: Any, name: str, kind: type, low: float, high: float, optional: bool = False
) -> None:
    value = getattr(params, name)
    if value is None and optional:
        return
    kinds = (int, float) if kind is float else (int,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InputTypeError(f"expected {name} to be a number, but got {value!r}")
    if not low <= value <= high or value == math.inf:
        bound = f"from {low} to {high}" if high < math.inf else f"at least {low}"
        raise InputError(f"expected {name} to be {bound}, but got {value}")


@dataclass(frozen=True)
class TokenLogprobs:
    """Natural logarithms of probabilities that the model gave, before temperature and the like.

    Attributes:
        token: The chosen token.
        logprob: Of it.
        top: The likeliest tokens and theirs, the likeliest first.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class GenerationResult:
    """What a request gave.

    Attributes:
        text: The text, without the prompt.
        tokens: The tokens, with the one that ended the text.
        finish_reason: "stop": a token or string that ends texts; "length": `max_new_tokens`, or the context or
            the cache is full; "cancelled".
        prompt_tokens: Number of tokens of the prompt.
        cached_tokens: How many of them were in the cache already.
        seed: Of the random choices.
        logprobs: One for each token, when asked for.
        seconds_to_first_token: From the request to its first token; waiting for other requests is part of it.
        seconds: From the request to its end.
    """

    text: str
    tokens: list[int]
    finish_reason: FinishReason
    prompt_tokens: int
    cached_tokens: int = 0
    seed: int = 0
    logprobs: list[TokenLogprobs] | None = field(default=None, repr=False)
    seconds_to_first_token: float = 0.0
    seconds: float = 0.0
