# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom kernels, which this version cannot load."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Union

from kvern.errors import UnsupportedError
from kvern.graph._source import located

__all__ = ["KernelLibrary", "default_custom_extensions"]

_Path = Union[str, "PathLike[str]"]


def default_custom_extensions() -> tuple[Path, ...]:
    """Returns the libraries that every new graph loads: none."""
    return ()


class KernelLibrary:
    """A set of custom kernels; it stays empty, because kernels come from the compiler only."""

    def __init__(self, paths: Iterable[_Path] = ()) -> None:
        """Makes a library.

        Raises:
            NotImplementedError: There are paths.
        """
        self.load_paths(paths)

    def library_paths(self) -> list[Path]:
        """Returns the paths loaded: none."""
        return []

    def add_path(self, path: _Path) -> NoReturn:
        """Adds a library.

        Raises:
            NotImplementedError: Always.
        """
        raise located(
            UnsupportedError, "KernelLibrary", f"custom kernels cannot be loaded, but got {path}"
        )

    def load_paths(self, custom_extensions: Iterable[_Path]) -> None:
        """Adds libraries.

        Raises:
            NotImplementedError: There is one.
        """
        for path in custom_extensions:
            self.add_path(path)

    def has_shape_function(self, kernel: str) -> NoReturn:
        """Says whether a kernel has a shape function.

        Raises:
            KeyError: Always: there is no kernel.
        """
        raise KeyError(kernel)

    def verify_custom_op(self, custom_op: Any) -> NoReturn:
        """Checks an op against its kernel.

        Raises:
            KeyError: Always: there is no kernel.
        """
        raise KeyError(str(custom_op))
