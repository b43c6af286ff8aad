# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far the loading of a model is: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["LoadingProgress"]

# A phase that ends sooner is not worth a line or a bar: a warm start shows nothing.
_QUICK_SECONDS = 0.3


class LoadingProgress:
    """A `progress` of `kvern.pipelines`, shown on stderr within a `with` block."""

    def __init__(self) -> None:
        """Shows nothing yet."""
        self._is_terminal = sys.stderr.isatty()
        self._bars: Any = None
        self._show: Callable[[int, int, str], None] | None = None
        self._phase: str | None = None
        self._start = 0.0

    def __enter__(self) -> LoadingProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._end()
        if self._bars is not None:
            self._bars.__exit__(kind, error, traceback)

    def __call__(self, phase: str, done: int, total: int, item: str) -> None:
        """Takes how far a phase is."""
        if phase != self._phase:
            self._end()
            self._phase, self._start = phase, time.perf_counter()
        if self._is_terminal and time.perf_counter() - self._start > _QUICK_SECONDS:
            self._bar(phase)(done, total, item)

    def _bar(self, phase: str) -> Callable[[int, int, str], None]:
        if self._bars is None:
            # rich takes a tenth of a second to import.
            from kvern.cli.progress import Progress

            self._bars = Progress().__enter__()
        if self._show is None:
            self._show = self._bars.callback(phase)
        assert self._show is not None
        return self._show

    def _end(self) -> None:
        if self._phase is None:
            return
        seconds = time.perf_counter() - self._start
        if seconds > _QUICK_SECONDS and not self._is_terminal:
            print(f"{self._phase}: {seconds:.1f} s", file=sys.stderr)
        self._phase, self._show = None, None
