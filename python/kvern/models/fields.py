# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads values of configurations; what is wrong with them is collected and told at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kvern.errors import InputError

__all__ = ["MOST_LAYERS", "MOST_POSITIONS", "Fields"]

_REQUIRED: Any = object()
# So that wrong numbers take no memory.
_MOST, MOST_LAYERS, MOST_POSITIONS = 2**31 - 1, 2**12, 2**22


class Fields:
    """The values of a configuration, by key."""

    def __init__(self, values: Mapping[str, Any], source: str, prefix: str = "") -> None:
        """Wraps them.

        Args:
            values: The configuration.
            source: Where it is from, for errors.
            prefix: Put before each key.
        """
        self.values = values
        self.source = source
        self.prefix = prefix
        self.problems: list[str] = []

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a value as it is; the default also when it is null."""
        value = self.values.get(self.prefix + key)
        return default if value is None else value

    def integer(
        self, key: str, default: Any = _REQUIRED, *, least: int = 1, most: int = _MOST
    ) -> Any:
        """Returns an integer from `least` to `most`."""
        value = self._value(key, default)
        if value is _MISSING or value is default:
            return least if value is _MISSING else value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            return self._wrong(key, f"an integer from {least} to {most}", value, least)
        return value

    def number(self, key: str, default: Any = _REQUIRED, *, positive: bool = True) -> Any:
        """Returns a finite number, above 0 if `positive`."""
        value = self._value(key, default)
        if value is _MISSING or value is default:
            return 1.0 if value is _MISSING else value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or (positive and value <= 0):
            return self._wrong(key, "a number above 0" if positive else "a number", value, 1.0)
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Returns true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            return self._wrong(key, "true or false", value, default)
        return value

    def choice(self, key: str, known: Mapping[str, Any], default: Any = _REQUIRED) -> Any:
        """Returns what a text stands for."""
        value = self._value(key, default)
        if value is _MISSING:
            return next(iter(known.values()))
        if not isinstance(value, str) or value not in known:
            wanted = "one of " + ", ".join(map(repr, known))
            return self._wrong(key, wanted, value, next(iter(known.values())))
        return known[value]

    def ids(self, key: str) -> tuple[Any, ...]:
        """Returns the numbers of tokens: one, several, or none."""
        value = self.get(key, [])
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in listed):
            return self._wrong(key, "the number of a token or a list of them", value, ())
        return tuple(listed)

    def _value(self, key: str, default: Any) -> Any:
        value = self.get(key)
        if value is not None:
            return value
        if default is _REQUIRED:
            self.problems.append(f"{self.prefix}{key}: missing")
            return _MISSING
        return default

    def _wrong(self, key: str, expected: str, got: Any, instead: Any) -> Any:
        shown = repr(got)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        self.problems.append(f"{self.prefix}{key}: expected {expected}, but got {shown}")
        return instead

    def check(self) -> None:
        """Ends the reading. What is wrong with a value is told once, also when several parts read it.

        Raises:
            ValueError: Values are missing or wrong; all are listed.
        """
        if self.problems:
            problems = dict.fromkeys(self.problems)
            raise InputError("\n  ".join([f"{self.source} cannot be used", *problems]))


_MISSING: Any = object()
