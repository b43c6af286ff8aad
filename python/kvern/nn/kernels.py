# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on ragged batches and paged caches, as layers use them.

Terms: T new tokens of B sequences, one sequence after the other; `input_row_offsets`, uint32 `[B + 1]`, has the first
row of each sequence, and T. `layer_idx` is a uint32 scalar. Each function checks types and ranks first.
"""

from __future__ import annotations

from kvern.dtype import DType
from kvern.errors import InputError, ShapeError
from kvern.graph import BufferValue, TensorValue, TensorValueLike, ops
from kvern.nn._ragged import check_batch, check_tensor, mask_of, token_positions
from kvern.nn._sampling_kernels import apply_penalties_to_logits, update_frequency_data
from kvern.nn.attention import AttentionMaskVariant, MHAMaskVariant
from kvern.nn.kv_cache import KVCacheParams, PagedCacheValues

__all__ = [
    "AttentionMaskVariant",
    "MHAMaskVariant",
    "apply_penalties_to_logits",
    "flash_attention",
    "flash_attention_ragged",
    "fused_qkv_ragged_matmul",
    "kv_cache_copy_pages",
    "kv_cache_store_paged",
    "kv_matmul_ragged_paged",
    "mask_of",
    "rope_ragged",
    "rope_split_store_ragged",
    "token_positions",
    "update_frequency_data",
]


def fused_qkv_ragged_matmul(
    kv_params: KVCacheParams,
    input: TensorValueLike,
    input_row_offsets: TensorValueLike,
    wqkv: TensorValueLike,
    kv_collection: PagedCacheValues,
    layer_idx: TensorValueLike,
    n_heads: int,
    bias: TensorValueLike | None = None,
) -> TensorValue:
    """Projects to queries, keys and values, stores the last two, and returns the queries, `[T, n_heads * head_dim]`.

    Args:
        kv_params: Of the cache.
        input: `[T, hidden]`.
        input_row_offsets: uint32 `[B + 1]`.
        wqkv: `[(n_heads + 2 * kv_heads) * head_dim, hidden]`.
        kv_collection: The cache.
        layer_idx: The layer.
        n_heads: Heads of the queries.
        bias: `[(n_heads + 2 * kv_heads) * head_dim]`.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "fused_qkv_ragged_matmul"
    hidden = check_tensor(name, "input", input, 2, None)
    layer, offsets = check_batch(name, layer_idx, input_row_offsets)
    q = ops.qkv_project_store(
        hidden,
        offsets,
        check_tensor(name, "wqkv", wqkv, 2, None),
        kv_collection.as_value(),
        layer,
        heads=n_heads,
        bias=None if bias is None else check_tensor(name, "bias", bias, 1, None),
    )
    return ops.reshape(q, [hidden.shape[0], n_heads * kv_params.head_dim])


def _heads_of(
    name: str, kv_params: KVCacheParams, qkv: TensorValue, n_heads: int
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Splits `[T, (n_heads + 2 * kv_heads) * head_dim]` into queries, keys and values, `[T, heads, head_dim]`."""
    heads, size = kv_params.n_kv_heads_per_device, kv_params.head_dim
    width = (n_heads + 2 * heads) * size
    if kv_params.is_mla or qkv.shape[1] != width:
        raise ShapeError(
            f"{name}: expected {n_heads} + 2 * {heads} heads of {size} elements of keys and values, but got "
            f"{qkv!r} for {type(kv_params).__name__}"
        )
    qkv = ops.reshape(qkv, [qkv.shape[0], n_heads + 2 * heads, size])
    return qkv[:, :n_heads], qkv[:, n_heads : n_heads + heads], qkv[:, n_heads + heads :]


def kv_matmul_ragged_paged(
    kv_params: KVCacheParams,
    input: TensorValueLike,
    input_row_offsets: TensorValueLike,
    weight: TensorValueLike,
    kv_collection: PagedCacheValues,
    layer_idx: TensorValueLike,
) -> None:
    """Projects to keys and values, and stores them.

    Args:
        kv_params: Of the cache.
        input: `[T, hidden]`.
        input_row_offsets: uint32 `[B + 1]`.
        weight: `[2 * kv_heads * head_dim, hidden]`, the rows of keys first.
        kv_collection: The cache.
        layer_idx: The layer.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "kv_matmul_ragged_paged"
    hidden = check_tensor(name, "input", input, 2, None)
    layer, offsets = check_batch(name, layer_idx, input_row_offsets)
    both = ops.matmul(hidden, check_tensor(name, "weight", weight, 2, None).T)
    heads = kv_params.n_kv_heads_per_device
    shape = [hidden.shape[0], 2 * heads, kv_params.head_dim]
    both = ops.reshape(both, shape)
    ops.kv_store(kv_collection.as_value(), layer, offsets, both[:, :heads], both[:, heads:])


def kv_cache_store_paged(
    kv_params: KVCacheParams,
    k: TensorValueLike,
    v: TensorValueLike | None,
    input_row_offsets: TensorValueLike,
    kv_collection: PagedCacheValues,
    layer_idx: TensorValueLike,
) -> None:
    """Stores keys and values of new tokens.

    Args:
        kv_params: Of the cache.
        k: `[T, kv_heads, head_dim]`.
        v: The same; None for a latent cache.
        input_row_offsets: uint32 `[B + 1]`.
        kv_collection: The cache.
        layer_idx: The layer.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "kv_cache_store_paged"
    if (v is None) is not kv_params.is_mla:
        wanted = (
            "no v for a latent cache" if kv_params.is_mla else "v for a cache of keys and values"
        )
        raise InputError(f"{name}: expected {wanted}, but got {v!r}")
    layer, offsets = check_batch(name, layer_idx, input_row_offsets)
    values = None if v is None else check_tensor(name, "v", v, 3, None)
    keys = check_tensor(name, "k", k, 3, None)
    ops.kv_store(kv_collection.as_value(), layer, offsets, keys, values)


def rope_split_store_ragged(
    kv_params: KVCacheParams,
    qkv: TensorValueLike,
    input_row_offsets: TensorValueLike,
    freqs_cis: TensorValueLike,
    kv_collection: PagedCacheValues,
    layer_idx: TensorValueLike,
    n_heads: int,
    *,
    interleaved: bool = True,
) -> TensorValue:
    """Splits, rotates queries and keys, stores keys and values, and returns the queries, `[T, n_heads * head_dim]`.

    Args:
        kv_params: Of the cache.
        qkv: `[T, (n_heads + 2 * kv_heads) * head_dim]`.
        input_row_offsets: uint32 `[B + 1]`.
        freqs_cis: `[rows, width]`; see `ops.rope`.
        kv_collection: The cache.
        layer_idx: The layer.
        n_heads: Heads of the queries.
        interleaved: Whether pairs are neighbours.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "rope_split_store_ragged"
    packed = check_tensor(name, "qkv", qkv, 2, None)
    layer, offsets = check_batch(name, layer_idx, input_row_offsets)
    q, k, v = _heads_of(name, kv_params, packed, n_heads)
    q = ops.rope_store(
        q,
        k,
        v,
        offsets,
        check_tensor(name, "freqs_cis", freqs_cis, 2, None),
        kv_collection.as_value(),
        layer,
        interleaved=interleaved,
    )
    return ops.reshape(q, [packed.shape[0], n_heads * kv_params.head_dim])


def rope_ragged(
    input: TensorValueLike,
    input_row_offsets: TensorValueLike,
    start_pos: TensorValueLike,
    freqs_cis: TensorValueLike,
    *,
    interleaved: bool = True,
) -> TensorValue:
    """Rotates each token by its position, and returns a tensor of the same shape.

    Args:
        input: `[T, heads, head_dim]`.
        input_row_offsets: uint32 `[B + 1]`.
        start_pos: uint32 `[B]`: the position of the first token of each sequence.
        freqs_cis: `[rows, width]`; see `ops.rope`.
        interleaved: Whether pairs are neighbours.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "rope_ragged"
    x = check_tensor(name, "input", input, 3, None)
    positions = token_positions(x.shape[0], start_pos, input_row_offsets)
    table = check_tensor(name, "freqs_cis", freqs_cis, 2, None)
    return ops.rope(x, table, positions, interleaved=interleaved)


def flash_attention_ragged(
    kv_params: KVCacheParams,
    input: TensorValueLike,
    input_row_offsets: TensorValueLike,
    kv_collection: PagedCacheValues,
    layer_idx: TensorValueLike,
    mask_variant: MHAMaskVariant | AttentionMaskVariant,
    scale: float,
    local_window_size: int = -1,
    sink_weights: TensorValueLike | None = None,
    *,
    logits_soft_cap: float = 0.0,
) -> TensorValue:
    """Returns the attention of new tokens to all of their sequence in the cache, `[T, heads, head_dim]`.

    Args:
        kv_params: Of the cache.
        input: The queries, `[T, heads, head_dim]`.
        input_row_offsets: uint32 `[B + 1]`.
        kv_collection: The cache; it has the keys and values of the new tokens.
        layer_idx: The layer.
        mask_variant: Which keys a query sees.
        scale: Factor of the scores.
        local_window_size: The window of the variants that have one, else -1.
        sink_weights: `[heads]`; one more score in the denominator of each head.
        logits_soft_cap: Scores s become `c * tanh(s / c)`; 0 for scores as they are.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one, or the window is missing or surplus.
    """
    name = "flash_attention_ragged"
    q = check_tensor(name, "input", input, 3, None)
    if kv_params.is_mla:
        raise InputError(f"{name}: expected a cache of keys and values, but got {kv_params!r}")
    layer, offsets = check_batch(name, layer_idx, input_row_offsets)
    mask, window = mask_of(name, mask_variant, local_window_size)
    return ops.paged_attention(
        q,
        offsets,
        kv_collection.as_value(),
        layer,
        scale=scale,
        mask_variant=mask,
        local_window_size=window,
        sinks=None
        if sink_weights is None
        else check_tensor(name, "sink_weights", sink_weights, 1, None),
        softcap=logits_soft_cap,
    )


def flash_attention(
    q: TensorValueLike,
    k: TensorValueLike,
    v: TensorValueLike,
    mask_variant: MHAMaskVariant | AttentionMaskVariant,
    scale: float,
    local_window_size: int = -1,
) -> TensorValue:
    """Returns attention without a cache, `[B, S, heads, head_dim]`.

    Args:
        q: `[B, S, heads, head_dim]`.
        k: `[B, keys, kv_heads, head_dim]`.
        v: The same for values.
        mask_variant: Which keys a query sees.
        scale: Factor of the scores.
        local_window_size: The window of the variants that have one, else -1.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one, or the window is missing or surplus.
    """
    name = "flash_attention"
    mask, window = mask_of(name, mask_variant, local_window_size)
    queries, keys, values = (
        check_tensor(name, what, x, 4, None) for what, x in (("q", q), ("k", k), ("v", v))
    )
    return ops.attention(
        queries, keys, values, scale=scale, mask_variant=mask, local_window_size=window
    )


def kv_cache_copy_pages(
    source: BufferValue,
    destination: BufferValue,
    source_pages: TensorValueLike,
    destination_pages: TensorValueLike,
) -> None:
    """Copies pages: page `destination_pages[i]` becomes what page `source_pages[i]` was, in all layers.

    Args:
        source: The blocks, or scales, of a cache.
        destination: Those of the same or another one.
        source_pages: uint32 `[n]`.
        destination_pages: uint32 `[n]`, all different.

    Raises:
        TypeError: An element type is another one.
        ValueError: A shape is another one.
    """
    name = "kv_cache_copy_pages"
    pages = (("source_pages", source_pages), ("destination_pages", destination_pages))
    ops.kv_copy_pages(
        source, destination, *(check_tensor(name, what, x, 1, DType.uint32) for what, x in pages)
    )
