# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The group of commands, and how each of them ends."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence

import click

import kvern
from kvern.errors import CompileError, ExecutionError, KvernError, OutOfMemoryError

__all__ = ["run"]

# Each is `command` of the module of its name. Help needs no import of them.
_COMMANDS = {
    "generate": "Generate text with the model of a checkpoint.",
    "inspect": "Show what is in a checkpoint, a graph or an executable.",
    "compile": "Compile a graph or a checkpoint to an executable.",
    "run": "Run an executable or a graph.",
    "bench": "Time an executable or a graph, kernel by kernel, or a language model.",
}
# What was asked for cannot be done; what was asked for failed.
_REFUSED, _FAILED = 2, 1


class _LazyGroup(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        return importlib.import_module(f"kvern.cli.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(kvern.__version__, prog_name="kvern")
def _kvern() -> None:
    """Compile neural networks and run them.

    With --debug, wherever it stands, an error shows where it comes from.
    """


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    Args:
        arguments: Without the name of the program.

    Returns:
        The exit code: 0; 1 when what was asked for failed; 2 when it cannot be done; 130 after Ctrl-C.
    """
    arguments = list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    is_debug = "--debug" in arguments[:end]
    arguments[:end] = [argument for argument in arguments[:end] if argument != "--debug"]
    try:
        code = _kvern.main(arguments, prog_name="kvern", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        _flush()
        error.show(sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _flush()
        print(file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read the output has gone: nothing more to say, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (KvernError, OSError, MemoryError) as error:
        _flush()
        if is_debug:
            traceback.print_exc()
        else:
            print(f"kvern: error: {error or type(error).__name__}", file=sys.stderr)
        failed = (CompileError, ExecutionError, OutOfMemoryError, MemoryError)
        return _FAILED if isinstance(error, failed) else _REFUSED


def _flush() -> None:
    """Puts what was printed before an error before it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
