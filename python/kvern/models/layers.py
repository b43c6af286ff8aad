# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts that architectures share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvern import nn
from kvern.dtype import DType
from kvern.graph import TensorValue, TensorValueLike, ops
from kvern.models.architecture import Build
from kvern.models.config import ModelConfig
from kvern.nn.kv_cache import PagedCacheValues

__all__ = [
    "SoftcappedAttention",
    "SoftcappedLinear",
    "attention",
    "mlp",
    "norm",
    "rotary_embedding",
]


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
    )
    made.replace_module("o_proj", _output_projection(build))
    return made


def _output_projection(build: Build) -> nn.Linear:
    config = build.config
    width = config.num_heads * config.head_dim
    return nn.Linear(width, config.hidden_size, build.dtype, build.device, has_bias=config.o_bias)


class SoftcappedAttention(nn.Module):
    """Attention whose scores s are bounded: `c * tanh(s / c)`.

    Source: Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024.
    """

    def __init__(self, build: Build, layer: int) -> None:
        """Declares the projections; they have no biases.

        Args:
            build: What the model is built of.
            layer: The layer's number.
        """
        super().__init__()
        config = build.config
        self.config = config
        self.rope = build.rope
        self.window = config.windows[layer]
        queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, queries, build.dtype, build.device)
        self.k_proj = nn.Linear(config.hidden_size, keys, build.dtype, build.device)
        self.v_proj = nn.Linear(config.hidden_size, keys, build.dtype, build.device)
        self.o_proj = _output_projection(build)

    def __call__(
        self,
        layer_idx: TensorValue,
        x: TensorValue,
        kv_collection: PagedCacheValues,
        freqs_cis: TensorValue,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Returns what the tokens attend to, `[T, hidden]`; the arguments are those of `nn.AttentionWithRope`."""
        config, cache = self.config, kv_collection.as_value()
        q, k, v = (
            ops.reshape(project(x), [x.shape[0], heads, config.head_dim])
            for project, heads in (
                (self.q_proj, config.num_heads),
                (self.k_proj, config.num_kv_heads),
                (self.v_proj, config.num_kv_heads),
            )
        )
        rotated = ops.rope_store(
            q,
            k,
            v,
            input_row_offsets,
            freqs_cis,
            cache,
            layer_idx,
            interleaved=self.rope.interleaved,
        )
        attended = ops.paged_attention(
            rotated,
            input_row_offsets,
            cache,
            layer_idx,
            scale=self.rope.compute_scale(config.attention_scale),
            mask_variant="causal" if self.window is None else "sliding_window_causal",
            local_window_size=self.window or -1,
            softcap=config.attention_softcap,
        )
        width = config.num_heads * config.head_dim
        return self.o_proj(ops.reshape(attended, [x.shape[0], width]))


class SoftcappedLinear(nn.Linear):
    """A linear layer with a bounded result: `c * tanh(y / c)`, in float32."""

    softcap: float = 0.0

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the bounded result, `[..., out_dim]`."""
        y = super().__call__(x)
        return (
            y
            if self.softcap == 0
            else self.softcap * ops.tanh(y.cast(DType.float32) / self.softcap)
        )


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
    if rope.scaling == "divisors":
        made = _DividedRotaryEmbedding(*sizes, interleaved=rope.interleaved)
        made.divisors = rope.divisors
        return made
    if rope.scaling == "linear":
        params = nn.LinearScalingParams(rope.factor)
    return nn.RotaryEmbedding(*sizes, interleaved=rope.interleaved, scaling_params=params)
