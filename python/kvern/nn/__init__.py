# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers, and the base class of models.

A layer is a `Module`: it declares weights and child layers, and its `__call__` stages ops into the graph that
is being built.
"""

from __future__ import annotations

from kvern.nn.attention import AttentionMaskVariant, MHAMaskVariant, MultiheadAttention
from kvern.nn.attention_with_rope import AttentionWithRope, GGUFQAttentionWithRope
from kvern.nn.bounds import clamp
from kvern.nn.containers import Identity, LayerList, MissingLayer, Sequential
from kvern.nn.convolution import Conv1D, Conv2d, Conv3D
from kvern.nn.convolution_transpose import ConvTranspose1d, WeightNormConvTranspose1d
from kvern.nn.embedding import Embedding
from kvern.nn.hooks import BasePrintHook, PrintHook, add_layer_hook, clear_hooks
from kvern.nn.latent_attention import LatentAttentionWithRope
from kvern.nn.layer import Layer, Module
from kvern.nn.linear import Linear
from kvern.nn.logits import (
    LogitsPostprocessMixin,
    ReturnHiddenStates,
    ReturnLogits,
    logits_postprocess,
)
from kvern.nn.mlp import MLP, FusedMLP
from kvern.nn.norm import LayerNorm, RMSNorm
from kvern.nn.ragged_attention import RaggedAttention
from kvern.nn.rotary_embedding import DynamicRotaryEmbedding, LinearScalingParams, RotaryEmbedding
from kvern.nn.rotary_scaling import (
    Llama3RopeScalingParams,
    Llama3RotaryEmbedding,
    LongRoPERotaryEmbedding,
    LongRoPEScalingParams,
)
from kvern.nn.rotary_yarn import (
    DeepseekYarnRopeScalingParams,
    DeepseekYarnRotaryEmbedding,
    YarnRotaryEmbedding,
    YarnScalingParams,
)
from kvern.nn.stacked_linear import StackedLinear
from kvern.nn.transformer import Transformer, TransformerBlock, forward_sequential_layers

__all__ = [
    "MLP",
    "AttentionMaskVariant",
    "AttentionWithRope",
    "BasePrintHook",
    "Conv1D",
    "Conv2d",
    "Conv3D",
    "ConvTranspose1d",
    "DeepseekYarnRopeScalingParams",
    "DeepseekYarnRotaryEmbedding",
    "DynamicRotaryEmbedding",
    "Embedding",
    "FusedMLP",
    "GGUFQAttentionWithRope",
    "Identity",
    "LatentAttentionWithRope",
    "Layer",
    "LayerList",
    "LayerNorm",
    "Linear",
    "LinearScalingParams",
    "Llama3RopeScalingParams",
    "Llama3RotaryEmbedding",
    "LogitsPostprocessMixin",
    "LongRoPERotaryEmbedding",
    "LongRoPEScalingParams",
    "MHAMaskVariant",
    "MissingLayer",
    "Module",
    "MultiheadAttention",
    "PrintHook",
    "RMSNorm",
    "RaggedAttention",
    "ReturnHiddenStates",
    "ReturnLogits",
    "RotaryEmbedding",
    "Sequential",
    "StackedLinear",
    "Transformer",
    "TransformerBlock",
    "WeightNormConvTranspose1d",
    "YarnRotaryEmbedding",
    "YarnScalingParams",
    "add_layer_hook",
    "clamp",
    "clear_hooks",
    "forward_sequential_layers",
    "logits_postprocess",
]
