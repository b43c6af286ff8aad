# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values of sequences, kept in pages (Kwon et al., "PagedAttention", 2023).

The ops take a ragged batch: tensors of all tokens, one sequence after the other, and `input_row_offsets`, the first
row of each sequence and then the number of rows. Token i of sequence b stands at position `cache_lengths[b] + i`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError
from kvern.graph._convert import to_buffer, to_float, to_int, to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage, stage_tensor
from kvern.graph.ops.attention import score_attributes
from kvern.graph.ops.shape import rebind

if TYPE_CHECKING:
    from kvern.graph.value import BufferValueLike, PagedCacheValue, TensorValue, TensorValueLike

__all__ = [
    "kv_copy_pages",
    "kv_store",
    "latent_attention",
    "paged_attention",
    "paged_cache",
    "qkv_project_store",
    "rope_store",
]


def paged_cache(
    kv_blocks: BufferValueLike,
    cache_lengths: TensorValueLike,
    lookup_table: TensorValueLike,
    max_prompt_length: TensorValueLike,
    max_cache_length: TensorValueLike,
    kv_scales: BufferValueLike | None = None,
) -> PagedCacheValue:
    """Returns memory and tables as a cache of keys and values.

    Token p of sequence b is in page `lookup_table[b, p // page_size]`, at place `p % page_size`. Entries of the table
    beyond the tokens of a sequence are not read.

    Args:
        kv_blocks: A buffer `[pages, 2, layers, page_size, heads, head_dim]`, keys first; `[pages, 1, ...]` for a
            latent cache, whose rows serve as both. float32, bfloat16, float16, or with `kv_scales` int8 or
            float8_e4m3fn.
        cache_lengths: uint32 `[sequences]`: the tokens that each has in the cache before this step.
        lookup_table: uint32 `[sequences, most pages]`.
        max_prompt_length: uint32 `[1]`, on the device of the cache: at least the new tokens of each sequence.
        max_cache_length: uint32 `[1]`: at least the tokens of each sequence.
        kv_scales: A float32 buffer `[pages, 2, layers, page_size, heads, head_dim / granularity]`: what `granularity`
            adjacent elements of a quantized cache are multiplied by.

    Raises:
        TypeError: An argument is of another kind, or there is no kernel for the element type.
        ValueError: The shapes or devices do not fit.
    """
    name = "paged_cache"
    blocks = to_buffer(name, kv_blocks)

    def table(value: TensorValueLike) -> TensorValue:
        return to_tensor(name, value, DType.uint32, blocks.device)

    (cache,) = stage(
        name,
        blocks,
        table(cache_lengths),
        table(lookup_table),
        table(max_prompt_length),
        table(max_cache_length),
        scales=None if kv_scales is None else to_buffer(name, kv_scales),
    )
    return cache  # pyright: ignore[reportReturnType]


def kv_store(
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    input_row_offsets: TensorValueLike,
    k: TensorValueLike,
    v: TensorValueLike | None = None,
) -> None:
    """Stores keys and values of new tokens.

    Elements are rounded to the type of the cache; in a quantized cache a group of elements is scaled by its largest.

    Args:
        cache: The cache.
        layer_idx: A scalar: the layer.
        input_row_offsets: uint32 `[sequences + 1]`.
        k: A float tensor `[tokens, heads, head_dim]`.
        v: The same for values; None for a latent cache.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: The shapes or devices do not fit the cache.
    """
    name = "kv_store"
    stage(
        name,
        to_tensor(name, k),
        *_batch(name, cache, layer_idx, input_row_offsets),
        v=None if v is None else to_tensor(name, v),
    )


def rope_store(
    q: TensorValueLike,
    k: TensorValueLike,
    v: TensorValueLike,
    input_row_offsets: TensorValueLike,
    freqs_cis: TensorValueLike,
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    *,
    interleaved: bool = True,
) -> TensorValue:
    """Rotates queries and keys by their positions, stores keys and values, and returns the queries.

    The same as `rope` of both and `kv_store`, in one pass.

    Args:
        q: A float tensor `[tokens, query heads, head_dim]`.
        k: A float tensor `[tokens, heads, head_dim]`.
        v: The same for values.
        input_row_offsets: uint32 `[sequences + 1]`.
        freqs_cis: `[rows, width]`, see `rope`; positions beyond the last row count as that.
        cache: The cache.
        layer_idx: A scalar: the layer.
        interleaved: Whether pair i is elements 2 i and 2 i + 1, else elements i and i + width / 2.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: The shapes or devices do not fit the cache.
    """
    name = "rope_store"
    offsets, value, layer = _batch(name, cache, layer_idx, input_row_offsets)
    return stage_tensor(
        name,
        to_tensor(name, q),
        to_tensor(name, k),
        to_tensor(name, v),
        offsets,
        to_tensor(name, freqs_cis),
        value,
        layer,
        interleaved=bool(interleaved),
    )


def qkv_project_store(
    hidden: TensorValueLike,
    input_row_offsets: TensorValueLike,
    weight: TensorValueLike,
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    *,
    heads: int,
    bias: TensorValueLike | None = None,
) -> TensorValue:
    """Projects to queries, keys and values, stores the last two, and returns the queries.

    Args:
        hidden: A float tensor `[tokens, hidden]`.
        input_row_offsets: uint32 `[sequences + 1]`.
        weight: `[(heads + 2 * cache heads) * head_dim, hidden]`: the rows of queries, keys, values.
        cache: The cache, of keys and values.
        layer_idx: A scalar: the layer.
        heads: Heads of the queries; a multiple of those of the cache.
        bias: `[(heads + 2 * cache heads) * head_dim]`.

    Returns:
        The queries `[tokens, heads, head_dim]`.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: The shapes or devices do not fit the cache.
    """
    name = "qkv_project_store"
    return stage_tensor(
        name,
        to_tensor(name, hidden),
        to_tensor(name, weight),
        *_batch(name, cache, layer_idx, input_row_offsets),
        bias=None if bias is None else to_tensor(name, bias),
        query_heads=to_int(name, "heads", heads),
    )


def paged_attention(
    q: TensorValueLike,
    input_row_offsets: TensorValueLike,
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    *,
    scale: float | None = None,
    mask_variant: str = "causal",
    local_window_size: int = -1,
    sinks: TensorValueLike | None = None,
    softcap: float = 0.0,
    value_dim: int = 0,
) -> TensorValue:
    """Returns the attention of new tokens to all of their sequence in the cache; see `attention`.

    Keys and values of the new tokens have been stored before. Prompts and single tokens may be mixed in one batch.
    Pages that no query sees are not read, so those to the left of a window may belong to others.

    Args:
        q: A float tensor `[tokens, query heads, head_dim]`; the heads are a multiple of those of the cache.
        input_row_offsets: uint32 `[sequences + 1]`.
        cache: The cache.
        layer_idx: A scalar: the layer.
        scale: Factor of the scores; None for `1 / sqrt(head_dim)`.
        mask_variant: Which keys a query sees.
        local_window_size: The window of the variants that have one, else -1.
        sinks: `[query heads]`; one more score in the denominator of each head.
        softcap: Scores s become `softcap * tanh(s / softcap)`; 0 for scores as they are.
        value_dim: With a latent cache, how many of the first elements of a row are its value; else 0.

    Returns:
        `[tokens, query heads, head_dim]`, or `value_dim` in place of it, of the type of q.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: The shapes or devices do not fit the cache, or there is no such variant or window.
    """
    name = "paged_attention"
    query = to_tensor(name, q)
    return stage_tensor(
        name,
        query,
        *_batch(name, cache, layer_idx, input_row_offsets),
        sinks=None if sinks is None else to_tensor(name, sinks),
        **score_attributes(name, query, scale, mask_variant, local_window_size),
        softcap=to_float(name, "softcap", softcap),
        value_dim=to_int(name, "value_dim", value_dim),
    )


def latent_attention(
    q: TensorValueLike,
    input_row_offsets: TensorValueLike,
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    kv_b: TensorValueLike,
    *,
    value_dim: int,
    scale: float | None = None,
    mask_variant: str = "causal",
    local_window_size: int = -1,
    mode: str = "auto",
) -> TensorValue:
    """Returns multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024) over a latent cache.

    A row of the cache is `latent` elements c and then the rotated key r that all heads share. Head h attends to the
    keys `(U c, r)` and the values `W c`, U and W being its rows of `kv_b`. There are two forms, with equal results.
    Absorbed: `q U` attends to the rows as they are stored, and W is applied to the result, in
    `2 tokens heads keys (2 latent + rope)` operations. Prefill: keys and values are made first, head by head, in
    `2 heads keys latent (nope + value_dim)` operations, and attention to them takes
    `2 tokens heads keys (nope + rope + value_dim)`; less in all where a sequence has hundreds of new tokens.

    Args:
        q: A float tensor `[tokens, heads, nope + rope]`, its last `rope` elements rotated.
        input_row_offsets: uint32 `[sequences + 1]`.
        cache: A latent cache of `head_dim = latent + rope`.
        layer_idx: A scalar: the layer.
        kv_b: `[heads * (nope + value_dim), latent]`: for each head the rows of U, then of W.
        value_dim: Elements of a value.
        scale: Factor of the scores; None for `1 / sqrt(nope + rope)`.
        mask_variant: Which keys a query sees.
        local_window_size: The window of the variants that have one, else -1.
        mode: "absorbed" or "prefill"; "auto" is absorbed.

    Returns:
        `[tokens, heads, value_dim]`, of the type of q.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: The shapes or devices do not fit the cache, or there is no such variant, window or mode.
    """
    name = "latent_attention"
    if mode not in ("auto", "absorbed", "prefill"):
        raise located(
            GraphError, name, f'expected mode "auto", "absorbed" or "prefill", but got {mode!r}'
        )
    query = to_tensor(name, q)
    return stage_tensor(
        name,
        query,
        to_tensor(name, kv_b),
        *_batch(name, cache, layer_idx, input_row_offsets),
        value_dim=to_int(name, "value_dim", value_dim),
        **score_attributes(name, query, scale, mask_variant, local_window_size),
        absorbed=mode != "prefill",
    )


def kv_copy_pages(
    source: BufferValueLike,
    destination: BufferValueLike,
    source_pages: TensorValueLike,
    destination_pages: TensorValueLike,
) -> None:
    """Copies pages: in all layers, page `destination_pages[i]` becomes what page `source_pages[i]` was.

    Args:
        source: A buffer `[pages, ...]`, the blocks or scales of a cache.
        destination: A buffer of its type but for the number of pages; may be the same.
        source_pages: uint32 `[n]`.
        destination_pages: uint32 `[n]`, all different, and none of them a source in the same buffer.

    Raises:
        TypeError: An argument is of another kind, or the element types differ.
        ValueError: The shapes or devices differ.
    """
    name = "kv_copy_pages"
    memory = to_buffer(name, source)
    stage(
        name,
        memory,
        to_buffer(name, destination),
        to_tensor(name, source_pages, DType.uint32, memory.device),
        to_tensor(name, destination_pages, DType.uint32, memory.device),
    )


def _batch(
    name: str,
    cache: PagedCacheValue,
    layer_idx: TensorValueLike,
    input_row_offsets: TensorValueLike,
) -> tuple[TensorValue, PagedCacheValue, TensorValue]:
    """Offsets, cache and layer, in the order of the ops.

    A graph may give the offsets a size of their own name; that it is one more than the sequences is checked at run
    time then.
    """
    from kvern.graph.value import PagedCacheValue

    if not isinstance(cache, PagedCacheValue):
        raise located(DTypeError, name, f"expected a cache from paged_cache, but got {cache!r}")
    offsets = to_tensor(name, input_row_offsets, DType.uint32, cache.device)
    size = cache.type.sequences + 1
    if offsets.rank == 1 and offsets.shape[0] != size:
        offsets = rebind(
            offsets, [size], "input_row_offsets has one element more than there are sequences"
        )
    return offsets, cache, to_tensor(name, layer_idx, DType.uint32, cache.device)
