# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Qwen3: Llama with RMS norms of each head of queries and keys.

Source: Yang et al., "Qwen3 Technical Report", 2025.
"""

from __future__ import annotations

from typing import Any

from kvern.models import llama
from kvern.models.architecture import Architecture
from kvern.models.fields import Fields
from kvern.models.qwen2 import upper_windows

__all__ = ["QWEN3"]


def from_huggingface(f: Fields) -> dict[str, Any]:
    """The norms are not in the file: all models have them."""
    bias = f.flag("attention_bias", False)
    return {"qkv_bias": bias, "o_bias": bias, "qk_norm": True, "windows": upper_windows(f)}


QWEN3 = Architecture(
    "qwen3",
    llama.block,
    huggingface=("qwen3",),
    gguf=("qwen3",),
    from_huggingface=from_huggingface,
    from_gguf=lambda f: {"qk_norm": True},
)
