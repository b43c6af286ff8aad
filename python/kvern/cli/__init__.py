# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `kvern`. A file for each of its commands, imported when it is called."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]

_NEEDED = ("click", "rich")
# The extra `cli`.
_INSTALL = "pip install click gguf jinja2 rich safetensors tokenizers"


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"kvern: error: {' and '.join(missing)} not installed; install what the command needs by\n\n"
            f"    {_INSTALL}\n",
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        from kvern.cli.group import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        # Before the command had begun.
        sys.exit(130)
