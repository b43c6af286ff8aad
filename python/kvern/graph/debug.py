# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debugging options that act when a graph is built."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GraphDebugConfig"]


@dataclass
class GraphDebugConfig:
    """Options of `Graph.debug`; set them before the graph is made.

    Attributes:
        source_tracebacks: Ops record the whole Python stack that staged them, not only the innermost line of
            the user's; errors of the compiler then show it.
    """

    source_tracebacks: bool = False
