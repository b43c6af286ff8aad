# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DeepSeek-V2 with dense feed-forward networks: multi-head latent attention.

Source: DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model", 2024.
"""

from __future__ import annotations

from typing import Any

from kvern import nn
from kvern.errors import UnsupportedError
from kvern.models.architecture import Architecture, Build
from kvern.models.config import LatentConfig
from kvern.models.fields import MOST_LAYERS, Fields
from kvern.models.layers import mlp, norm

__all__ = ["DEEPSEEK_V2"]


def block(build: Build, layer: int) -> nn.TransformerBlock:
    """Returns the block of a layer."""
    config, latent = build.config, build.config.latent
    assert latent is not None
    attention = nn.LatentAttentionWithRope(
        rope=build.rope,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        hidden_size=config.hidden_size,
        kv_params=build.kv_params,
        dtype=build.dtype,
        devices=[build.device],
        scale=config.attention_scale,
        q_lora_rank=latent.q_lora_rank,
        kv_lora_rank=latent.kv_lora_rank,
        qk_nope_head_dim=latent.qk_nope_head_dim,
        qk_rope_head_dim=latent.qk_rope_head_dim,
        v_head_dim=latent.v_head_dim,
    )
    return nn.TransformerBlock(
        attention, mlp(build), attention_norm=norm(build), mlp_norm=norm(build)
    )


def from_huggingface(f: Fields) -> dict[str, Any]:
    """The latent sizes; layers of experts are refused."""
    dense, layers = (
        f.integer("first_k_dense_replace", 0, least=0),
        f.integer("num_hidden_layers", most=MOST_LAYERS),
    )
    if dense < layers and f.get("n_routed_experts") is not None:
        raise UnsupportedError(
            f"expected first_k_dense_replace in {f.source} to be at least the {layers} layers, but got {dense}: "
            "layers of experts are not supported"
        )
    for key in ("attention_bias", "mlp_bias"):
        if f.flag(key, False):
            f.problems.append(f"{key}: expected false, but got true")
    nope, rotated = f.integer("qk_nope_head_dim"), f.integer("qk_rope_head_dim")
    latent = LatentConfig(
        q_lora_rank=f.integer("q_lora_rank", None),
        kv_lora_rank=f.integer("kv_lora_rank"),
        qk_nope_head_dim=nope,
        qk_rope_head_dim=rotated,
        v_head_dim=f.integer("v_head_dim"),
    )
    return {"latent": latent, "head_dim": rotated}


DEEPSEEK_V2 = Architecture(
    "deepseek_v2",
    block,
    huggingface=("deepseek_v2",),
    from_huggingface=from_huggingface,
    huggingface_interleaved=True,
)
