# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Qwen2: Llama with biases of queries, keys and values, and windows in the upper layers on request.

Source: Yang et al., "Qwen2 Technical Report", 2024.
"""

from __future__ import annotations

from typing import Any

from kvern.models import llama
from kvern.models.architecture import Architecture
from kvern.models.fields import MOST_LAYERS, Fields
from kvern.models.huggingface import windows

__all__ = ["QWEN2", "upper_windows"]


def upper_windows(f: Fields) -> tuple[int | None, ...]:
    """Windows from layer `max_window_layers` on, if they are in use."""
    layers = f.integer("num_hidden_layers", most=MOST_LAYERS)
    if not f.flag("use_sliding_window", False):
        return (None,) * layers
    first = f.integer("max_window_layers", layers, least=0)
    return windows(f, [layer >= first for layer in range(layers)])


def from_huggingface(f: Fields) -> dict[str, Any]:
    """The biases are not in the file: all models have them."""
    return {"qkv_bias": True, "windows": upper_windows(f)}


QWEN2 = Architecture(
    "qwen2",
    llama.block,
    huggingface=("qwen2",),
    gguf=("qwen2",),
    from_huggingface=from_huggingface,
    from_gguf=lambda f: {"qkv_bias": True},
)
