# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistral: Llama whose layers see a window of tokens. Its GGUF files call themselves llama.

Source: Jiang et al., "Mistral 7B", 2023.
"""

from __future__ import annotations

from typing import Any

from kvern.models import llama
from kvern.models.architecture import Architecture
from kvern.models.fields import MOST_LAYERS, Fields

__all__ = ["MISTRAL"]


def from_huggingface(f: Fields) -> dict[str, Any]:
    """The window: of all layers, or none."""
    layers = f.integer("num_hidden_layers", most=MOST_LAYERS)
    return {"windows": (f.integer("sliding_window", None),) * layers}


MISTRAL = Architecture(
    "mistral", llama.block, huggingface=("mistral",), from_huggingface=from_huggingface
)
