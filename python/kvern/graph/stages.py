# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's stages, and what a graph looks like after each; docs/stages.md says what they hold."""

from __future__ import annotations

from kvern.graph._compile import stage, stage_names

__all__ = ["stage", "stage_names"]
