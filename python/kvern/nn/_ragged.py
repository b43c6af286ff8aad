# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of ragged batches, masks, and positions of tokens."""

from __future__ import annotations

from kvern.dtype import DType
from kvern.errors import DTypeError, InputError, ShapeError, UnsupportedError
from kvern.graph import DimLike, TensorValue, TensorValueLike, ops
from kvern.nn.attention import AttentionMaskVariant, MHAMaskVariant

__all__ = ["check_batch", "check_tensor", "mask_of", "token_positions"]

_MASKS = {
    MHAMaskVariant.CAUSAL_MASK: "causal",
    MHAMaskVariant.NULL_MASK: "null",
    MHAMaskVariant.CHUNKED_CAUSAL_MASK: "chunked_causal",
    MHAMaskVariant.SLIDING_WINDOW_CAUSAL_MASK: "sliding_window_causal",
    MHAMaskVariant.SLIDING_WINDOW_NONCAUSAL_MASK: "sliding_window_noncausal",
}


def mask_of(
    name: str, variant: MHAMaskVariant | AttentionMaskVariant | str, window: int
) -> tuple[str, int]:
    """Returns the mask as `ops.paged_attention` takes it.

    Args:
        name: Who asks, for errors.
        variant: The variant.
        window: Its tokens; -1 for a variant without a window.

    Raises:
        ValueError: There is no such variant, or the window is missing or surplus.
        NotImplementedError: It is the mask of a tensor.
    """
    if variant in list(MHAMaskVariant):
        mask = _MASKS[MHAMaskVariant(variant)]
    elif variant in list(AttentionMaskVariant):
        mask = AttentionMaskVariant(variant).value
    else:
        raise InputError(f"{name}: expected a MHAMaskVariant as mask_variant, but got {variant!r}")
    if mask == AttentionMaskVariant.TENSOR_MASK.value:
        raise UnsupportedError(
            f"{name} does not support a mask that is a tensor; available are {', '.join(_MASKS.values())}"
        )
    if mask in ("causal", "null"):
        if window != -1:
            raise InputError(f"{name}: expected no window with the mask {mask!r}, but got {window}")
    elif window < 1:
        given = "none" if window == -1 else window
        raise InputError(
            f"{name}: expected a window of at least 1 token with the mask {mask!r}, but got {given}"
        )
    return mask, window


def check_tensor(
    name: str, what: str, value: TensorValueLike, rank: int, dtype: DType | None
) -> TensorValue:
    """Returns the value, of a rank, and of an element type: None for any float.

    Raises:
        TypeError: Its element type is another one.
        ValueError: Its rank is another one.
    """
    tensor = TensorValue(value)
    if tensor.rank != rank:
        raise ShapeError(f"{name}: expected {what} of rank {rank}, but got {tensor!r}")
    fits = tensor.dtype.is_float() if dtype is None else tensor.dtype is dtype
    if not fits:
        wanted = "a float type" if dtype is None else dtype.name
        raise DTypeError(f"{name}: expected {what} of {wanted}, but got {tensor.dtype.name}")
    return tensor


def check_batch(
    name: str, layer_idx: TensorValueLike, input_row_offsets: TensorValueLike
) -> tuple[TensorValue, TensorValue]:
    """Returns the layer and the offsets.

    Raises:
        TypeError: They are not of uint32.
        ValueError: They are no scalar, or no vector.
    """
    layer = check_tensor(name, "layer_idx", layer_idx, 0, DType.uint32)
    return layer, check_tensor(name, "input_row_offsets", input_row_offsets, 1, DType.uint32)


def token_positions(
    tokens: DimLike, cache_lengths: TensorValueLike, input_row_offsets: TensorValueLike
) -> TensorValue:
    """Returns the position of each new token in its sequence: int64 `[T]`.

    Args:
        tokens: T.
        cache_lengths: uint32 `[B]`: tokens of each sequence in the cache.
        input_row_offsets: uint32 `[B + 1]`.

    Raises:
        TypeError: An element type is another one.
        ValueError: A rank is another one.
    """
    name = "token_positions"
    lengths = check_tensor(name, "cache_lengths", cache_lengths, 1, DType.uint32).cast(DType.int64)
    offsets = check_tensor(name, "input_row_offsets", input_row_offsets, 1, DType.uint32)
    rows = ops.range(0, tokens, dtype=DType.int64, device=offsets.device)
    offsets = offsets.cast(DType.int64)
    ends = ops.rebind(offsets[1:], lengths.shape)
    starts = ops.rebind(offsets[:-1], lengths.shape)
    is_behind = ops.greater_equal(ops.unsqueeze(rows, 1), ops.unsqueeze(ends, 0))
    sequence = ops.squeeze(ops.sum(is_behind.cast(DType.int64), axis=1), 1)
    return rows + ops.gather(lengths - starts, sequence, axis=0)
