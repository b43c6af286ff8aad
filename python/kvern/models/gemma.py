# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gemma 2: bounded scores and logits, windows in every other layer, norms before and after attention and network.

Source: Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024.
"""

from __future__ import annotations

import math
from typing import Any

from kvern import nn
from kvern.models.architecture import Architecture, Build
from kvern.models.fields import MOST_LAYERS, Fields
from kvern.models.huggingface import activation, windows
from kvern.models.layers import attention, mlp, norm

__all__ = ["GEMMA2"]


def block(build: Build, layer: int) -> nn.TransformerBlock:
    """Returns the block of a layer."""
    return nn.TransformerBlock(
        attention(build, layer),
        mlp(build),
        attention_norm=norm(build),
        mlp_norm=norm(build),
        post_attention_norm=norm(build),
        post_mlp_norm=norm(build),
    )


def _every_other(layers: int) -> list[bool]:
    return [layer % 2 == 0 for layer in range(layers)]


def from_huggingface(f: Fields) -> dict[str, Any]:
    """What sets it apart; tied embeddings by default."""
    if f.flag("attention_bias", False):
        f.problems.append("attention_bias: expected false, but got true")
    return {
        "activation": activation(f, "hidden_activation", "gelu_pytorch_tanh"),
        "tie_word_embeddings": f.flag("tie_word_embeddings", True),
        "windows": windows(f, _every_other(f.integer("num_hidden_layers", most=MOST_LAYERS))),
        "attention_scale": 1 / math.sqrt(f.number("query_pre_attn_scalar")),
        "attention_softcap": f.number("attn_logit_softcapping", 0.0),
        "logit_softcap": f.number("final_logit_softcapping", 0.0),
        "norm_offset": 1.0,
        "embedding_multiplier": math.sqrt(f.integer("hidden_size")),
    }


def from_gguf(f: Fields) -> dict[str, Any]:
    """GGUF files have the offset of the norms in their weights."""
    width = f.integer("attention.sliding_window", 4096)
    layers = f.integer("block_count", most=MOST_LAYERS)
    return {
        "activation": "gelu_tanh",
        "windows": tuple(width if each else None for each in _every_other(layers)),
        "attention_softcap": f.number("attn_logit_softcapping", 0.0),
        "logit_softcap": f.number("final_logit_softcapping", 0.0),
        "embedding_multiplier": math.sqrt(f.integer("embedding_length")),
    }


GEMMA2 = Architecture(
    "gemma2",
    block,
    huggingface=("gemma2",),
    gguf=("gemma2",),
    from_huggingface=from_huggingface,
    from_gguf=from_gguf,
)
