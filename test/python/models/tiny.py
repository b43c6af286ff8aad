# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models with random weights, of sizes that no vector divides, made by transformers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

# Layers, heads and widths are odd on purpose; the window is shorter than the texts. Equal sizes share kernels.
COMMON: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 36,
    "intermediate_size": 50,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 500.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
}
DEEPSEEK_ROPE = {**YARN_ROPE, "mscale": 0.7, "mscale_all_dim": 0.8, "beta_fast": 16, "beta_slow": 2}
LINEAR_ROPE = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 2.0}
# Architecture: the configuration of transformers, and what it has besides `COMMON`.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": (
        "LlamaConfig",
        {"rope_parameters": LLAMA3_ROPE, "attention_bias": True, "mlp_bias": True},
    ),
    "qwen2": (
        "Qwen2Config",
        {"rope_parameters": LINEAR_ROPE, "tie_word_embeddings": True},
    ),
    "qwen3": ("Qwen3Config", {"head_dim": 14, "rope_parameters": YARN_ROPE}),
    "mistral": ("MistralConfig", {"num_key_value_heads": 3, "sliding_window": 7}),
    "gemma2": (
        "Gemma2Config",
        {"num_hidden_layers": 3, "head_dim": 10, "sliding_window": 5, "query_pre_attn_scalar": 10},
    ),
    "deepseek_v2": (
        "DeepseekV2Config",
        {
            "num_key_value_heads": 3,
            "rope_parameters": DEEPSEEK_ROPE,
            "first_k_dense_replace": 2,
            "q_lora_rank": None,
            "kv_lora_rank": 20,
            "qk_nope_head_dim": 6,
            "qk_rope_head_dim": 4,
            "v_head_dim": 8,
        },
    ),
}


@functools.cache
def reference(architecture: str) -> Any:
    """The model of transformers, in float32."""
    import torch
    import transformers

    kind, own = MODELS[architecture]
    config = getattr(transformers, kind)(**{**COMMON, **own})
    config._attn_implementation = "eager"
    torch.manual_seed(sum(map(ord, architecture)))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            # Large enough that attention is far from a mean, and biases are seen.
            spread = 1.2 / value.shape[-1] ** 0.5 if value.ndim > 1 else 0.2
            offset = 1.0 if "norm" in name and architecture != "gemma2" else 0.0
            value.normal_(offset, spread)
            if "embed_tokens" in name:
                value.normal_(0, 1)
    return model


@functools.cache
def _in_float64(architecture: str, is_rounded: bool) -> Any:
    import copy

    model = copy.deepcopy(reference(architecture))
    return (model.bfloat16() if is_rounded else model).double()


def expected_logits(
    architecture: str, tokens: np.ndarray, *, is_rounded: bool = False
) -> np.ndarray:
    """The logits of a text at all positions, `[tokens, vocab]`, in float64.

    Args:
        architecture: The model.
        tokens: The text.
        is_rounded: Whether its weights are those rounded to bfloat16.
    """
    import torch

    with torch.no_grad():
        found = _in_float64(architecture, is_rounded)(
            torch.as_tensor(tokens[None]), use_cache=False
        )
    return found.logits[0].double().numpy()


def save(architecture: str, folder: Path, **options: Any) -> Path:
    """Writes a directory as users have it."""
    reference(architecture).save_pretrained(folder, **options)
    return folder
