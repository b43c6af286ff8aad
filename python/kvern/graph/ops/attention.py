# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and rotary positions, computed in float32 (float64 for float64)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kvern.dtype import DType
from kvern.errors import DTypeError, ShapeError
from kvern.graph._convert import to_float, to_int, to_tensor
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.dim import StaticDim
from kvern.graph.ops.constant import constant
from kvern.graph.ops.elementwise_binary import where

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["attention", "ragged_attention", "rope", "score_attributes"]


def attention(
    q: TensorValueLike,
    k: TensorValueLike,
    v: TensorValueLike,
    mask: TensorValueLike | None = None,
    *,
    scale: float | None = None,
    mask_variant: str = "null",
    local_window_size: int = -1,
    sinks: TensorValueLike | None = None,
    softcap: float = 0.0,
) -> TensorValue:
    """Returns `softmax(scale * q k^T + mask) v` for each sequence and head (Vaswani et al., 2017).

    A group of `heads / kv_heads` consecutive heads of q shares one head of k and v (Ainslie et al., 2023). The
    positions of the queries end where the keys end: query i of n stands at p = i + keys - n. A query that sees no
    key gives 0.

    Args:
        q: A float tensor `[batch, queries, heads, head_dim]`; the last two are static.
        k: A tensor `[batch, keys, kv_heads, head_dim]`.
        v: A tensor `[batch, keys, kv_heads, value_dim]`.
        mask: Added to the scores, or, if bool, True where a key is seen; broadcasts to
            `[batch, heads, queries, keys]`.
        scale: Factor of the scores; None for `1 / sqrt(head_dim)`.
        mask_variant: Which keys j a query at p sees: "null", all; "causal", j <= p; "sliding_window_causal",
            p - window < j <= p; "sliding_window_noncausal", |p - j| < window; "chunked_causal", j <= p in the same
            chunk of `window` positions.
        local_window_size: The window of the variants that have one, else -1.
        sinks: `[heads]`; one more score in the denominator of each head.
        softcap: Scores s become `softcap * tanh(s / softcap)` before the mask; 0 for scores as they are.

    Returns:
        A tensor `[batch, queries, heads, value_dim]`.

    Raises:
        TypeError: A tensor is not float, or the element types differ.
        ValueError: The shapes do not fit, there is no such variant or window, or the devices differ.
    """
    name = "attention"
    query = to_tensor(name, q)
    return stage_tensor(
        name,
        query,
        to_tensor(name, k),
        to_tensor(name, v),
        mask=_additive(name, mask, query),
        sinks=None if sinks is None else to_tensor(name, sinks),
        **score_attributes(name, query, scale, mask_variant, local_window_size),
        softcap=to_float(name, "softcap", softcap),
    )


def ragged_attention(
    q: TensorValueLike,
    k: TensorValueLike,
    v: TensorValueLike,
    input_row_offsets: TensorValueLike,
    kv_row_offsets: TensorValueLike | None = None,
    *,
    scale: float | None = None,
    mask_variant: str = "causal",
    local_window_size: int = -1,
    sinks: TensorValueLike | None = None,
    softcap: float = 0.0,
) -> TensorValue:
    """Returns attention within sequences that lie one after the other; see `attention`.

    Sequence b has the queries from `input_row_offsets[b]` to below `input_row_offsets[b + 1]`, and the keys and
    values from `kv_row_offsets[b]` on likewise. Offsets ascend from 0 to the number of rows.

    Args:
        q: A float tensor `[queries, heads, head_dim]`; the last two are static.
        k: A tensor `[keys, kv_heads, head_dim]`.
        v: A tensor `[keys, kv_heads, value_dim]`.
        input_row_offsets: A tensor `[batch + 1]` of 32- or 64-bit integers.
        kv_row_offsets: The same for keys and values; those of the queries by default.
        scale: Factor of the scores; None for `1 / sqrt(head_dim)`.
        mask_variant: Which keys a query sees.
        local_window_size: The window of the variants that have one, else -1.
        sinks: `[heads]`; one more score in the denominator of each head.
        softcap: Scores s become `softcap * tanh(s / softcap)`; 0 for scores as they are.

    Returns:
        A tensor `[queries, heads, value_dim]`.

    Raises:
        TypeError: A tensor is not float, the element types differ, or the offsets are no such integers.
        ValueError: The shapes do not fit, there is no such variant or window, or the devices differ.
    """
    name = "ragged_attention"
    query = to_tensor(name, q)
    offsets = to_tensor(name, input_row_offsets, DType.uint32, query.device)
    keys = offsets
    if kv_row_offsets is not None:
        keys = to_tensor(name, kv_row_offsets, DType.uint32, query.device)
    return stage_tensor(
        name,
        query,
        to_tensor(name, k),
        to_tensor(name, v),
        offsets,
        keys,
        sinks=None if sinks is None else to_tensor(name, sinks),
        **score_attributes(name, query, scale, mask_variant, local_window_size),
        softcap=to_float(name, "softcap", softcap),
    )


def rope(
    x: TensorValueLike,
    freqs_cis: TensorValueLike,
    positions: TensorValueLike | None = None,
    *,
    interleaved: bool = True,
) -> TensorValue:
    """Rotates pairs of elements by angles that grow with the position (Su et al., 2021).

    A pair (a, b) at position p becomes (a cos - b sin, a sin + b cos) with the cosine and sine that row p of the
    table has for it. Elements beyond the width of the table stay.

    Args:
        x: A float tensor `[..., heads, head_dim]`.
        freqs_cis: The table, `[rows, width]`: `width / 2` pairs (cos, sin) a row; float32 or of the type of x.
        positions: 32- or 64-bit integers, of the shape of x without its last two axes; negative ones count from
            the end of the table, others that are outside are an error when the graph runs. By default the index
            on the third axis from the end.
        interleaved: Whether pair i is elements 2 i and 2 i + 1, else elements i and i + width / 2.

    Raises:
        TypeError: x or the table is not float, or the positions are no such integers.
        ValueError: The shapes do not fit, or the devices differ.
    """
    name = "rope"
    value = to_tensor(name, x)
    places = None if positions is None else to_tensor(name, positions, DType.int64, value.device)
    table = to_tensor(name, freqs_cis)
    return stage_tensor(name, value, table, positions=places, interleaved=bool(interleaved))


def score_attributes(
    name: str, query: TensorValue, scale: float | None, mask_variant: str, local_window_size: int
) -> dict[str, Any]:
    """Returns the attributes that say how scores are scaled, and which keys a query sees.

    The variant may be a member of an enumeration of strings; a window of -1 is none.
    """
    if scale is not None:
        scale = to_float(name, "scale", scale)
    elif query.rank == 0 or not isinstance(query.shape[-1], StaticDim):
        raise located(ShapeError, name, f"expected q with a static last size, but got {query!r}")
    else:
        size = int(query.shape[-1])
        scale = 1.0 / math.sqrt(size) if size else 1.0
    if not isinstance(mask_variant, str):
        raise located(
            DTypeError, name, f"expected mask_variant to be a string, but got {mask_variant!r}"
        )
    window = to_int(name, "local_window_size", local_window_size)
    return {
        "scale": scale,
        "mask_variant": str.__str__(mask_variant),
        "window": 0 if window == -1 else window,
    }


def _additive(name: str, mask: TensorValueLike | None, query: TensorValue) -> TensorValue | None:
    """A mask that is added; of True and False, 0 and minus infinity."""
    if mask is None:
        return None
    value = to_tensor(name, mask, query.dtype, query.device)
    if value.dtype is not DType.bool:
        return value
    if not query.dtype.is_float():
        raise located(DTypeError, name, f"expected q to be float, but got {query!r}")
    seen = constant(0.0, query.dtype, query.device)
    return where(value, seen, constant(-math.inf, query.dtype, query.device))
