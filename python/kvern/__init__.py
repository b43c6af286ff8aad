# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes neural networks as Modules and compiles them to native executables."""

from __future__ import annotations

__version__ = "0.1.0"
