# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in the user's program an op is staged, and errors that begin with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TypeVar

__all__ = ["located", "user_frame", "user_stack"]

# Frames of these are not the user's.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MACHINERY = ("<frozen ", "<string>")

_E = TypeVar("_E", bound=Exception)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((_PACKAGE, *_MACHINERY))


def user_frame() -> tuple[str, int]:
    """Returns file and line of the innermost frame outside the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def user_stack() -> list[tuple[str, int, str]]:
    """Returns file, line and function of all frames outside the package, innermost first."""
    stack: list[tuple[str, int, str]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame):
            stack.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return stack


def located(cls: type[_E], op: str, message: str, notes: Sequence[str] = ()) -> _E:
    """Makes an exception whose text is `file:line: op: message`, then one line a note."""
    file, line = user_frame()
    text = f"{file}:{line}: {op}: {message}"
    return cls("\n  ".join([text, *(f"note: {note}" for note in notes)]))
