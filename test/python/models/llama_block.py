# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder block in the manner of Llama, from layers and primitive ops, and the same in PyTorch.

Source: Touvron et al., "LLaMA", 2023; Su et al., "RoFormer", 2021; Ainslie et al., "GQA", 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, ops

CPU = DeviceRef.CPU()


@dataclass(frozen=True)
class LlamaConfig:
    hidden: int = 96
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 16
    feed_forward: int = 160
    theta: float = 10000.0
    eps: float = 1e-5
    dtype: DType = DType.float32


class Attention(nn.Module):
    """Causal attention in which `heads / kv_heads` query heads share a key and a value head."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden, queries, config.dtype, CPU)
        self.k_proj = nn.Linear(config.hidden, keys, config.dtype, CPU)
        self.v_proj = nn.Linear(config.hidden, keys, config.dtype, CPU)
        self.o_proj = nn.Linear(queries, config.hidden, config.dtype, CPU)

    def rotate(self, x: TensorValue) -> TensorValue:
        """Turns the pair (i, i + head_dim / 2) at position p by the angle `p * theta^(-2 i / head_dim)`.

        x is `[batch, seq, heads, head_dim]`.
        """
        half = self.config.head_dim // 2
        dtype = self.config.dtype
        rates = self.config.theta ** (-np.arange(half) / half)
        places = ops.range(0, x.shape[1], 1, out_dim=x.shape[1], dtype=DType.int64, device=CPU)
        angles = places.cast(dtype)[:, None] * ops.constant(rates[None], dtype, CPU)
        cos, sin = ops.cos(angles)[:, None, :], ops.sin(angles)[:, None, :]
        first, second = x[..., :half], x[..., half:]
        return ops.concat([first * cos - second * sin, second * cos + first * sin], axis=-1)

    def __call__(self, x: TensorValue) -> TensorValue:
        c = self.config
        batch, seq, _ = x.shape
        group = c.heads // c.kv_heads
        q = self.rotate(self.q_proj(x).reshape([batch, seq, c.heads, c.head_dim]))
        k = self.rotate(self.k_proj(x).reshape([batch, seq, c.kv_heads, c.head_dim]))
        v = self.v_proj(x).reshape([batch, seq, c.kv_heads, c.head_dim])
        # [batch, kv_heads, group, seq, head_dim]; a key head broadcasts over its group.
        q = q.reshape([batch, seq, c.kv_heads, group, c.head_dim]).permute([0, 2, 3, 1, 4])
        k = ops.unsqueeze(k.permute([0, 2, 1, 3]), 2)
        v = ops.unsqueeze(v.permute([0, 2, 1, 3]), 2)
        scores = q @ k.T * c.head_dim**-0.5
        places = ops.range(0, seq, 1, out_dim=seq, dtype=DType.int64, device=CPU)
        is_seen = places[:, None] >= places[None, :]
        weights = ops.softmax(ops.where(is_seen, scores, float("-inf")))
        mixed = (weights @ v).permute([0, 3, 1, 2, 4])
        return self.o_proj(mixed.reshape([batch, seq, c.heads * c.head_dim]))


class LlamaBlock(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden, config.dtype, config.eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, config.dtype, config.eps)
        self.mlp = nn.MLP(config.dtype, None, config.hidden, config.feed_forward, [CPU])

    def __call__(self, x: TensorValue) -> TensorValue:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


def random_weights(module: nn.Module, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = {}
    for name, weight in module.raw_state_dict().items():
        shape = [int(dim) for dim in weight.shape]
        scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.2
        offset = 0.0 if len(shape) > 1 else 1.0
        weights[name] = (rng.standard_normal(shape) * scale + offset).astype(
            weight.dtype.to_numpy()
        )
    return weights


def reference(weights: Mapping[str, np.ndarray], x: np.ndarray, config: LlamaConfig) -> np.ndarray:
    """The block in float64 with PyTorch's own attention, norm and complex rotation."""
    w = {name: torch.from_numpy(value.astype(np.float64)) for name, value in weights.items()}
    functional = torch.nn.functional
    batch, seq, hidden = x.shape

    def rotate(heads: torch.Tensor) -> torch.Tensor:
        half = config.head_dim // 2
        pairs = torch.complex(heads[..., :half].contiguous(), heads[..., half:].contiguous())
        rates = config.theta ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.outer(torch.arange(seq, dtype=torch.float64), rates)
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([turned.real, turned.imag], -1)

    def split(y: torch.Tensor, heads: int) -> torch.Tensor:
        return y.reshape(batch, seq, heads, config.head_dim).transpose(1, 2)

    h = torch.from_numpy(x.astype(np.float64))
    y = functional.rms_norm(h, (hidden,), w["input_layernorm.weight"], config.eps)
    q, k, v = (y @ w[f"self_attn.{name}_proj.weight"].T for name in "qkv")
    mixed = functional.scaled_dot_product_attention(
        rotate(split(q, config.heads)),
        rotate(split(k, config.kv_heads)),
        split(v, config.kv_heads),
        is_causal=True,
        enable_gqa=True,
    )
    h = h + mixed.transpose(1, 2).reshape(batch, seq, -1) @ w["self_attn.o_proj.weight"].T
    y = functional.rms_norm(h, (hidden,), w["post_attention_layernorm.weight"], config.eps)
    gated = functional.silu(y @ w["mlp.gate_proj.weight"].T) * (y @ w["mlp.up_proj.weight"].T)
    return (h + gated @ w["mlp.down_proj.weight"].T).numpy()
