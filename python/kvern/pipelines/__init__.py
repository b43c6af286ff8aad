# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From checkpoints to text: tokenizers, scheduling, generation."""

from __future__ import annotations

from kvern.pipelines.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
