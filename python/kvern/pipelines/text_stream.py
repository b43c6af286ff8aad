# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text as it is generated: characters that are complete, and the strings that end it."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

__all__ = ["StopMatcher", "TextStream"]


class TextStream:
    """Decodes token by token; what it returns never ends within a character."""

    def __init__(self, to_bytes: Callable[[int], bytes], strip_space: bool = False) -> None:
        """Begins a text.

        Args:
            to_bytes: The bytes that a token stands for; empty for those that are not text.
            strip_space: Whether a space that the text begins with is not part of it.
        """
        self._to_bytes = to_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._strip_space = strip_space

    def push(self, token: int) -> str:
        """Returns the characters that this token completes; bytes that are no UTF-8 become U+FFFD."""
        return self._text(self._to_bytes(token), False)

    def finish(self) -> str:
        """Ends the text: returns U+FFFD for what is left of a character, or nothing."""
        return self._text(b"", True)

    def _text(self, data: bytes, is_final: bool) -> str:
        if self._strip_space and data:
            self._strip_space = False
            data = data.removeprefix(b" ")
        return self._decoder.decode(data, is_final)


class StopMatcher:
    """Finds the first of several strings in a text that comes in pieces.

    What may become one of them is held back until it is known. The string found is not part of the text.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Looks for `stops`, none of them empty."""
        self._stops = tuple(stops)
        self._held = ""

    def push(self, text: str) -> tuple[str, bool]:
        """Takes more text.

        Returns:
            What can be shown, and whether a string was found; then the text has ended.
        """
        if not self._stops:
            return text, False
        text = self._held + text
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self._held = ""
            return text[: min(found)], True
        keep = max(self._overlap(text, stop) for stop in self._stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep], False

    def finish(self) -> str:
        """Returns what was held back: the text ended without it becoming a stop string."""
        text, self._held = self._held, ""
        return text

    @staticmethod
    def _overlap(text: str, stop: str) -> int:
        """The longest end of the text that begins the string."""
        for size in range(min(len(text), len(stop) - 1), 0, -1):
            if stop.startswith(text[len(text) - size :]):
                return size
        return 0
