# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts that architectures share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvern import nn
from kvern.errors import UnsupportedError
from kvern.models.architecture import Build
from kvern.models.config import ModelConfig

__all__ = ["attention", "mlp", "norm", "rotary_embedding"]


def norm(build: Build) -> nn.RMSNorm:
    """Returns the norm of the residual stream."""
    config = build.config
    # With an offset the product is taken before rounding, as in Gemma; else behind it, as in Llama.
    return nn.RMSNorm(
        config.hidden_size,
        build.dtype,
        config.rms_norm_eps,
        config.norm_offset,
        multiply_before_cast=config.norm_offset != 0,
    )


def mlp(build: Build) -> nn.MLP:
    """Returns the gated feed-forward network."""
    config = build.config
    return nn.MLP(
        build.dtype,
        None,
        config.hidden_size,
        config.intermediate_size,
        [build.device],
        has_bias=config.mlp_bias,
        activation_function=config.activation,
    )


def attention(build: Build, layer: int) -> nn.AttentionWithRope:
    """Returns the attention of a layer, over all tokens or those of its window."""
    config, window = build.config, build.config.windows[layer]
    variant = nn.MHAMaskVariant
    made = nn.AttentionWithRope(
        rope=build.rope,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        hidden_size=config.hidden_size,
        kv_params=build.kv_params,
        devices=[build.device],
        dtype=build.dtype,
        scale=config.attention_scale,
        has_bias=config.qkv_bias,
        use_qk_norm=config.qk_norm,
        rms_norm_eps=config.rms_norm_eps,
        mask_variant=variant.CAUSAL_MASK if window is None else variant.SLIDING_WINDOW_CAUSAL_MASK,
        sliding_window=window,
        logits_soft_cap=config.attention_softcap,
    )
    # Qwen 2 has biases of queries, keys and values alone.
    if config.qkv_bias != config.o_bias:
        width = config.num_heads * config.head_dim
        made.replace_module(
            "o_proj",
            nn.Linear(width, config.hidden_size, build.dtype, build.device, has_bias=config.o_bias),
        )
    return made


class _DividedRotaryEmbedding(nn.RotaryEmbedding):
    """Rotary embeddings whose frequencies are divided, each by a number of its own."""

    divisors: tuple[float, ...] = ()

    def frequencies(self) -> np.ndarray:
        """The angle of each pair at position 1, `[head_dim / 2]`, in float64."""
        return super().frequencies() / np.asarray(self.divisors, np.float64)


def rotary_embedding(config: ModelConfig) -> nn.RotaryEmbedding:
    """Returns the rotary embeddings of a model, with a table of its context."""
    rope = config.rope
    width = config.latent.qk_rope_head_dim if config.latent else config.head_dim
    # The layers make a table of twice as many positions as they are told.
    positions = -(-config.max_seq_len // 2)
    sizes = (config.hidden_size, config.num_heads, rope.theta, positions, width)
    params: Any = None
    if rope.scaling == "llama3":
        params = nn.Llama3RopeScalingParams(
            rope.factor, rope.low_freq_factor, rope.high_freq_factor, rope.original_max_position
        )
        return nn.Llama3RotaryEmbedding(*sizes, interleaved=rope.interleaved, scaling_params=params)
    if rope.scaling == "yarn":
        return _yarn(config, width)
    if rope.scaling == "divisors":
        made = _DividedRotaryEmbedding(*sizes, interleaved=rope.interleaved)
        made.divisors = rope.divisors
        return made
    if rope.scaling == "linear":
        params = nn.LinearScalingParams(rope.factor)
    return nn.RotaryEmbedding(*sizes, interleaved=rope.interleaved, scaling_params=params)


def _yarn(config: ModelConfig, width: int) -> nn.RotaryEmbedding:
    rope = config.rope
    # Latent attention has two factors more; without them the two are the same.
    if config.latent is None and rope.mscale_all_dim != 0:
        raise UnsupportedError(
            f"expected a rope of yarn without mscale_all_dim in {config.architecture}, but got {rope.mscale_all_dim}"
        )
    fast: Any = rope.beta_fast
    slow: Any = rope.beta_slow
    context = rope.original_max_position
    if config.latent is not None:
        params = nn.DeepseekYarnRopeScalingParams(
            rope.factor, context, fast, slow, rope.mscale, rope.mscale_all_dim
        )
        return nn.DeepseekYarnRotaryEmbedding(
            width,
            config.num_heads,
            rope.theta,
            config.max_seq_len,
            interleaved=rope.interleaved,
            scaling_params=params,
        )
    return nn.YarnRotaryEmbedding(
        config.hidden_size,
        config.num_heads,
        rope.theta,
        config.max_seq_len,
        width,
        interleaved=rope.interleaved,
        scaling_params=nn.YarnScalingParams(rope.factor, fast, slow, context, rope.truncate),
    )
