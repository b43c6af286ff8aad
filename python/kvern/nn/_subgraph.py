# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers as subgraphs, and what their calls return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvern.graph import Graph, Value
from kvern.nn._pytree import flatten

if TYPE_CHECKING:
    from kvern.nn.layer import Module

__all__ = ["build", "outputs_of"]
