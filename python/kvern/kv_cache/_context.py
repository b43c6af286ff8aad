# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A request's tokens, and how far they are computed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kvern.errors import InputError, InputTypeError, KVCacheError

__all__ = ["CacheContext", "TextContext"]


class CacheContext(Protocol):
    """What a cache manager asks of a request."""

    request_id: Hashable
    processed_length: int

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """All tokens, computed or not."""
        ...

    @property
    def active_length(self) -> int:
        """Tokens of this step."""
        ...

    @property
    def max_length(self) -> int | None:
        """The most tokens there may be; None for any number."""
        ...


class TextContext:
    """A request's tokens (the prompt, then what was generated), and how far they are computed.

    A step computes `tokens[processed_length : processed_length + active_length]`, which are all that are left unless
    `active_length` is set to fewer (a prompt in chunks).

    Attributes:
        request_id: Name of the request.
        max_length: The most tokens there may be; None for any number.
    """

    __slots__ = ("_active", "_count", "_processed", "_tokens", "max_length", "request_id")

    def __init__(
        self,
        request_id: Hashable,
        tokens: Sequence[int] | npt.NDArray[Any],
        max_length: int | None = None,
    ) -> None:
        """Starts a request.

        Args:
            request_id: Name of the request.
            tokens: Ids of the prompt; at least one.
            max_length: The most tokens there may be, the prompt's included.

        Raises:
            TypeError: The ids are no ints.
            ValueError: There are no tokens, or more than `max_length`.
        """
        made = np.asarray(tokens)
        if made.ndim != 1 or made.size == 0:
            raise InputError(
                f"request {request_id!r}: expected at least one token, but got shape {list(made.shape)}"
            )
        if made.dtype.kind not in "iu":
            raise InputTypeError(f"request {request_id!r}: expected ints, but got {made.dtype}")
        if max_length is not None and made.size > max_length:
            raise InputError(
                f"request {request_id!r}: expected at most {max_length} tokens, but got {made.size}"
            )
        self.request_id = request_id
        self.max_length = max_length
        self._count = made.size
        self._tokens = np.empty(max(64, 2 * made.size), np.int64)
        self._tokens[: made.size] = made
        self._processed = 0
        self._active: int | None = None

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """All tokens: a view, valid until the next `update`."""
        return self._tokens[: self._count]

    def __len__(self) -> int:
        return self._count

    @property
    def next_tokens(self) -> npt.NDArray[np.int64]:
        """The tokens of this step: a view."""
        return self._tokens[self._processed : self._processed + self.active_length]

    @property
    def processed_length(self) -> int:
        """Tokens whose keys and values are in the cache; a hit of the prefix cache moves it on."""
        return self._processed

    @processed_length.setter
    def processed_length(self, length: int) -> None:
        if not 0 <= length <= self._count:
            raise InputError(
                f"request {self.request_id!r}: expected processed_length from 0 to {self._count}, but got {length}"
            )
        self._processed = length

    @property
    def active_length(self) -> int:
        """Tokens of this step."""
        rest = self._count - self._processed
        return rest if self._active is None else min(rest, self._active)

    @active_length.setter
    def active_length(self, length: int) -> None:
        rest = self._count - self._processed
        if not 1 <= length <= rest:
            raise InputError(
                f"request {self.request_id!r}: expected active_length from 1 to the {rest} tokens left, but got "
                f"{length}"
            )
        self._active = length

    def update(self, token: int | None = None) -> None:
        """Goes on after a step: its tokens are in the cache now.

        Args:
            token: The token that comes next; None when the step was a chunk of the prompt that is not the last one.

        Raises:
            ValueError: A token although tokens are left, or beyond `max_length`: a `KVCacheError` then.
        """
        done = self._processed + self.active_length
        if token is not None:
            if done != self._count:
                raise InputError(
                    f"request {self.request_id!r}: expected no token, for {self._count - done} tokens are left to "
                    f"compute, but got {token}"
                )
            self._append(int(token))
        self._processed = done
        self._active = None

    def _append(self, token: int) -> None:
        if self.max_length is not None and self._count >= self.max_length:
            raise KVCacheError(
                f"request {self.request_id!r}: expected at most {self.max_length} tokens, but got one more"
            )
        if self._count == self._tokens.size:
            self._tokens = np.concatenate([self._tokens, np.empty_like(self._tokens)])
        self._tokens[self._count] = token
        self._count += 1

    def fork(self, request_id: Hashable) -> TextContext:
        """Returns a copy with another name; see `PagedKVCacheManager.fork`.

        Args:
            request_id: Name of the copy.
        """
        made = TextContext(request_id, self.tokens, self.max_length)
        made._processed, made._active = self._processed, self._active
        return made

    def __repr__(self) -> str:
        return (
            f"TextContext({self.request_id!r}, {self._count} tokens, {self._processed} processed, "
            f"{self.active_length} active)"
        )
