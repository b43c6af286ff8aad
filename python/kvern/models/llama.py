# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama: grouped-query attention with rotary embeddings, SwiGLU, RMS norms before each.

Source: Touvron et al., "Llama 2: Open Foundation and Fine-Tuned Chat Models", 2023; Dubey et al., "The Llama 3 Herd of
Models", 2024.
"""

from __future__ import annotations

from typing import Any

from kvern import nn
from kvern.models.architecture import Architecture, Build
from kvern.models.fields import MOST_LAYERS, Fields
from kvern.models.layers import attention, mlp, norm

__all__ = ["LLAMA", "block"]


def block(build: Build, layer: int) -> nn.TransformerBlock:
    """Returns the block of a layer."""
    return nn.TransformerBlock(
        attention(build, layer), mlp(build), attention_norm=norm(build), mlp_norm=norm(build)
    )


def from_huggingface(f: Fields) -> dict[str, Any]:
    """The biases, which some descendants of Llama have."""
    bias = f.flag("attention_bias", False)
    return {"qkv_bias": bias, "o_bias": bias, "mlp_bias": f.flag("mlp_bias", False)}


def from_gguf(f: Fields) -> dict[str, Any]:
    """The window of descendants such as Mistral."""
    window = f.integer("attention.sliding_window", 0, least=0) or None
    return {"windows": (window,) * f.integer("block_count", most=MOST_LAYERS)}


LLAMA = Architecture(
    "llama",
    block,
    huggingface=("llama",),
    gguf=("llama",),
    from_huggingface=from_huggingface,
    from_gguf=from_gguf,
    gguf_interleaved=True,
)
