# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contenders, by name. Each is loaded only when asked for."""

from __future__ import annotations

from frameworks.base import Contender, Unsupported
from frameworks.registry import NAMES, load

__all__ = ["NAMES", "Contender", "Unsupported", "load"]
