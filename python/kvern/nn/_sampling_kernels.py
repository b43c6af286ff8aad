# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Penalties for tokens that occurred, on buffers."""

from __future__ import annotations

from kvern.graph import BufferValue, TensorValueLike, ops

__all__ = ["apply_penalties_to_logits", "update_frequency_data"]


def apply_penalties_to_logits(
    logits_buffer: BufferValue,
    frequency_data: TensorValueLike,
    frequency_offsets: TensorValueLike,
    *,
    frequency_penalty: TensorValueLike = 0.0,
    presence_penalty: TensorValueLike = 0.0,
    repetition_penalty: TensorValueLike = 1.0,
) -> None:
    """Lowers the logits of tokens that occurred, in place; see `ops.apply_penalties`.

    Args:
        logits_buffer: A float32 buffer `[batch, vocab]`.
        frequency_data: `[entries, 2]`, int32: a token and its count. Entries of tokens out of range are left out.
        frequency_offsets: `[batch + 1]`, uint32: sequence b has the entries from `frequency_offsets[b]` on.
        frequency_penalty: `[batch]` or a scalar: what a token loses each time it occurred.
        presence_penalty: `[batch]` or a scalar: what a token loses for having occurred.
        repetition_penalty: `[batch]` or a scalar: what positive logits are divided, and others multiplied by.

    Raises:
        TypeError: An element type is another, or `logits_buffer` is no buffer.
        ValueError: The shapes or devices do not fit.
    """
    logits = ops.apply_penalties(
        ops.buffer_load(logits_buffer),
        frequency_data,
        frequency_offsets,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        repetition_penalty=repetition_penalty,
    )
    ops.buffer_store(logits_buffer, logits)


def update_frequency_data(
    frequency_data: BufferValue,
    frequency_offsets: TensorValueLike,
    new_tokens: TensorValueLike,
) -> None:
    """Counts one more token of each sequence, in place; see `ops.count_tokens`.

    Args:
        frequency_data: An int32 buffer `[entries, 2]`: a token and its count; token -1 is a free entry.
        frequency_offsets: `[batch + 1]`, uint32: sequence b has the entries from `frequency_offsets[b]` on.
        new_tokens: `[batch]`, int64. A token without an entry takes the first free one; when there is none it is
            not counted.

    Raises:
        TypeError: An element type is another, or `frequency_data` is no buffer.
        ValueError: The shapes or devices do not fit.
    """
    counts = ops.count_tokens(ops.buffer_load(frequency_data), frequency_offsets, new_tokens)
    ops.buffer_store(frequency_data, counts)
