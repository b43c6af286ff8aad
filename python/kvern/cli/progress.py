# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far long work is, on stderr: bars on a terminal, else nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

__all__ = ["Progress"]


class Progress:
    """Bars that vanish at the end of a `with` block."""

    def __init__(self) -> None:
        """Makes no bar yet: `callback` does."""
        console = Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description:8}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[item]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def callback(self, label: str) -> Callable[[int, int, str], None]:
        """Returns what `InferenceSession.load` takes as `progress`; the first call adds the bar.

        Args:
            label: What is done: "compile".
        """
        task: TaskID | None = None

        def report(done: int, total: int, item: str) -> None:
            nonlocal task
            if task is None:
                task = self._bars.add_task(label, item="")
            self._bars.update(task, completed=done, total=total, item=item[:40])

        return report
