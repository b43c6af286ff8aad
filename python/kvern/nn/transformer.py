# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder-only transformers over a paged cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError
from kvern.graph import DeviceRef, Graph, TensorValue, ops
from kvern.nn._pytree import flatten
from kvern.nn.containers import LayerList
from kvern.nn.embedding import Embedding
from kvern.nn.kv_cache import KVCacheParams, PagedCacheValues
from kvern.nn.layer import Module
from kvern.nn.linear import Linear
from kvern.nn.logits import LogitsPostprocessMixin, ReturnHiddenStates, ReturnLogits
from kvern.nn.rotary_embedding import RotaryEmbedding

__all__ = ["Transformer", "TransformerBlock", "forward_sequential_layers"]


class TransformerBlock(Module):
    """One layer: `h = x + m * attention(norm(x))`, then `h + m * mlp(norm(h))`.

    Attributes:
        self_attn: The attention.
        mlp: The feed-forward network.
        input_layernorm: The norm before attention.
        post_attention_layernorm: The norm before the network; with norms behind, the one behind attention.
        pre_feedforward_layernorm: The norm before the network, when there are norms behind.
        post_feedforward_layernorm: The one behind the network.
    """

    def __init__(
        self,
        attention: Module,
        mlp: Module,
        attention_norm: Module,
        mlp_norm: Module,
        residual_multiplier: float = 1.0,
        *,
        post_attention_norm: Module | None = None,
        post_mlp_norm: Module | None = None,
    ) -> None:
        """Makes the layer.

        Args:
            attention: Called as `AttentionWithRope` is.
            mlp: From `[T, hidden]` to the same.
            attention_norm: Applied before attention.
            mlp_norm: Applied before the network.
            residual_multiplier: The factor m.
            post_attention_norm: Applied to what attention returns, as in Gemma 2.
            post_mlp_norm: Applied to what the network returns. Both or neither.

        Raises:
            ValueError: There is one of the norms behind, and not the other.
        """
        super().__init__()
        if (post_attention_norm is None) is not (post_mlp_norm is None):
            raise InputError(
                "TransformerBlock: expected both or neither of post_attention_norm and post_mlp_norm, but got one"
            )
        self.self_attn = attention
        self.mlp = mlp
        self.input_layernorm = attention_norm
        self.has_post_norms = post_attention_norm is not None
        if post_attention_norm is None or post_mlp_norm is None:
            self.post_attention_layernorm = mlp_norm
        else:
            self.post_attention_layernorm = post_attention_norm
            self.pre_feedforward_layernorm = mlp_norm
            self.post_feedforward_layernorm = post_mlp_norm
        self.residual_multiplier = residual_multiplier

    def __call__(
        self,
        layer_idx: TensorValue,
        x: TensorValue,
        kv_collection: PagedCacheValues,
        freqs_cis: TensorValue,
        input_row_offsets: TensorValue,
    ) -> TensorValue:
        """Returns the residual stream behind the layer, `[T, hidden]`.

        Args:
            layer_idx: The layer in the cache, a uint32 scalar.
            x: The residual stream, `[T, hidden]`.
            kv_collection: The cache.
            freqs_cis: The table of the rotary embeddings.
            input_row_offsets: uint32 `[B + 1]`.
        """
        attended = self.self_attn(
            layer_idx, self.input_layernorm(x), kv_collection, freqs_cis, input_row_offsets
        )
        if not self.has_post_norms:
            h = x + self._scaled(attended)
            return h + self._scaled(self.mlp(self.post_attention_layernorm(h)))
        h = x + self._scaled(self.post_attention_layernorm(attended))
        y = self.mlp(self.pre_feedforward_layernorm(h))
        return h + self._scaled(self.post_feedforward_layernorm(y))

    def _scaled(self, y: TensorValue) -> TensorValue:
        return y if self.residual_multiplier == 1.0 else y * self.residual_multiplier


def forward_sequential_layers(
    layers: Iterable[Module],
    h: TensorValue,
    kv_collection: PagedCacheValues,
    freqs_cis: TensorValue,
    input_row_offsets: TensorValue,
    *,
    subgraph_layer_groups: Sequence[Sequence[int]] | None = None,
    weight_prefix: str = "layers.",
) -> list[TensorValue]:
    """Runs the layers one after the other, and returns what each of them returns.

    The layers of a group are calls of one subgraph, so they are staged once; others are staged one by one. Either way
    equal layers compile to one set of kernels: the number of the layer is an operand.

    Args:
        layers: Called as `TransformerBlock` is.
        h: `[T, hidden]`.
        kv_collection: The cache.
        freqs_cis: The table of the rotary embeddings.
        input_row_offsets: uint32 `[B + 1]`.
        subgraph_layer_groups: Numbers of layers that are alike but for their weights.
        weight_prefix: What the names of the weights of layer i begin with, before `i.`.

    Raises:
        ValueError: A group names a layer that does not exist, or one twice.
    """
    stack = list(layers)
    groups = [list(group) for group in subgraph_layer_groups or []]
    numbers = [number for group in groups for number in group]
    if len(set(numbers)) < len(numbers) or not all(0 <= n < len(stack) for n in numbers):
        raise InputError(
            f"forward_sequential_layers: expected groups of different layers below {len(stack)}, but got {groups}"
        )
    group_of = {number: index for index, group in enumerate(groups) for number in group}
    subgraphs: dict[int, Graph] = {}
    outputs: list[TensorValue] = []
    for i, layer in enumerate(stack):
        layer_idx = ops.constant(i, DType.uint32, DeviceRef.CPU())
        inputs: list[Any] = [layer_idx, h, kv_collection, freqs_cis, input_row_offsets]
        if i not in group_of:
            h = layer(*inputs)
        else:
            group = group_of[i]
            if group not in subgraphs:
                # Weights that are named by something else are found by the error of build_subgraph.
                prefix = f"{weight_prefix}{i}."
                subgraphs[group] = layer.build_subgraph(f"layers_{i}", inputs, prefix)
            leaves, _ = flatten(inputs)
            (called,) = ops.call(subgraphs[group], *leaves, prefix=f"{weight_prefix}{i}.")
            h = called.tensor
        outputs.append(h)
    return outputs


class Transformer(LogitsPostprocessMixin, Module):
    """A decoder-only language model over a paged cache.

    Attributes:
        embed_tokens: The embedding.
        layers: The layers.
        norm: The last norm.
        lm_head: From hidden states to logits.
        rope: The rotary embeddings of all layers.
    """

    def __init__(
        self,
        dim: int,
        n_heads: int,
        layers: Sequence[Module],
        norm: Module,
        output: Linear,
        embedding: Embedding,
        kv_params: KVCacheParams,
        rope: RotaryEmbedding,
        return_logits: ReturnLogits = ReturnLogits.LAST_TOKEN,
        return_hidden_states: ReturnHiddenStates = ReturnHiddenStates.NONE,
        embedding_multiplier: float = 1.0,
        logits_scaling: float = 1.0,
        target_layer_ids: Sequence[int] | None = None,
        *,
        logits_soft_cap: float = 0.0,
        subgraph_layer_groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Makes the model.

        Args:
            dim: Size of the residual stream.
            n_heads: Heads of the queries.
            layers: Called as `TransformerBlock` is.
            norm: The last norm.
            output: From hidden states to logits.
            embedding: From tokens to hidden states.
            kv_params: Of the cache.
            rope: The rotary embeddings; the layers share their table.
            return_logits: Which logits to return.
            return_hidden_states: Which hidden states to return behind them.
            embedding_multiplier: Factor of the embeddings.
            logits_scaling: What the logits are divided by.
            target_layer_ids: The layers of `ReturnHiddenStates.SELECTED_LAYERS`.
            logits_soft_cap: Logits y become `c * tanh(y / c)`; 0 for logits as they are.
            subgraph_layer_groups: Layers that are staged as calls of one subgraph; see `forward_sequential_layers`.

        Raises:
            ValueError: There are more or fewer layers than in the cache, or a target is none of them.
        """
        super().__init__()
        if len(layers) != kv_params.num_layers:
            raise InputError(
                f"Transformer: expected the {kv_params.num_layers} layers of the cache, but got {len(layers)}"
            )
        targets = list(target_layer_ids or [])
        if not all(0 <= target < len(layers) for target in targets):
            raise InputError(
                f"Transformer: expected target_layer_ids below {len(layers)}, but got {targets}"
            )
        if not targets and return_hidden_states is ReturnHiddenStates.SELECTED_LAYERS:
            raise InputError(
                "Transformer: expected target_layer_ids for SELECTED_LAYERS, but got none"
            )
        self.dim = dim
        self.n_heads = n_heads
        self.embed_tokens = embedding
        self.layers = LayerList(layers)
        self.norm = norm
        self.lm_head = output
        self.kv_params = kv_params
        self.rope = rope
        self.return_logits = ReturnLogits(return_logits)
        self.return_hidden_states = ReturnHiddenStates(return_hidden_states)
        self.embedding_multiplier = embedding_multiplier
        self.logits_scaling = logits_scaling
        self.logits_soft_cap = logits_soft_cap
        self.target_layer_ids = targets
        self.subgraph_layer_groups = subgraph_layer_groups

    def __call__(
        self,
        tokens: TensorValue,
        kv_collection: PagedCacheValues,
        return_n_logits: TensorValue,
        input_row_offsets: TensorValue,
    ) -> tuple[TensorValue, ...]:
        """Runs the model on the new tokens of a ragged batch.

        Args:
            tokens: int64 `[T]`.
            kv_collection: The cache.
            return_n_logits: int64; see `logits_postprocess`.
            input_row_offsets: uint32 `[B + 1]`.

        Returns:
            What `logits_postprocess` does; first the logits of the last token of each sequence, float32 `[B, vocab]`.

        Raises:
            ValueError: Something has another shape.
        """
        h = self.embed_tokens(tokens)
        if self.embedding_multiplier != 1.0:
            h = h * self.embedding_multiplier
        outputs = forward_sequential_layers(
            self.layers,
            h,
            kv_collection,
            self.rope.freqs_cis,
            input_row_offsets,
            subgraph_layer_groups=self.subgraph_layer_groups,
        )
        h = outputs[-1] if outputs else h
        selected = None
        if self.return_hidden_states is ReturnHiddenStates.SELECTED_LAYERS:
            selected = ops.concat([outputs[i] for i in self.target_layer_ids], -1)
        return self._postprocess_logits(h, input_row_offsets, return_n_logits, selected)
