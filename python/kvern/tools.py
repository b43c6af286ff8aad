# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Console scripts that hand over to the package's native tools."""

from __future__ import annotations

import os
import sys


def find_tool(name: str) -> str:
    """Returns the path of a native tool of the installed package.

    Raises:
        FileNotFoundError: The package has no such tool.
    """
    import kvern

    # An editable install spreads the package over two folders.
    for folder in kvern.__path__:
        path = os.path.join(folder, "bin", name)
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"expected {name} in bin/ of one of {list(kvern.__path__)}")


def kvern_opt() -> None:
    """Becomes `kvern-opt`."""
    _become("kvern-opt")


def kvern_lsp_server() -> None:
    """Becomes `kvern-lsp-server`, which a self-contained wheel does not have."""
    _become("kvern-lsp-server")


def _become(name: str) -> None:
    tool = find_tool(name)
    os.execv(tool, [tool, *sys.argv[1:]])
