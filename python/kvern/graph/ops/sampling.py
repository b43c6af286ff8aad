# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From logits to tokens. Random numbers depend on a seed and a position only, never on the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.dtype import DType
from kvern.graph._convert import to_int, to_tensor
from kvern.graph._staging import stage, stage_tensor
from kvern.graph.ops.elementwise import cast
from kvern.graph.ops.shape import broadcast_to

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike

__all__ = ["apply_penalties", "count_tokens", "filter_logits", "random_uniform", "sample_tokens"]


def sample_tokens(
    logits: TensorValueLike,
    temperature: TensorValueLike = 1.0,
    top_k: TensorValueLike = 0,
    top_p: TensorValueLike = 1.0,
    min_p: TensorValueLike = 0.0,
    *,
    seed: TensorValueLike,
    position: TensorValueLike,
    stream: int = 0,
) -> tuple[TensorValue, TensorValue]:
    """Draws a token for each row of logits.

    With weights `e^((logit - max) / temperature)`, kept are the `top_k` largest logits; of them those whose weight
    is at least `min_p` times the largest (Nguyen et al., 2024); of them the first, by falling logit, whose weights
    add up to `top_p` of those that `top_k` left, the one that reaches it included (Holtzman et al., 2019). Of equal
    logits the lower token comes first. The token is then drawn by its weight.

    A draw depends on its row, seed and position only: the uniform number is that of Philox 4x32-10 (Salmon et al.,
    2011) with the seed as key and the position as counter; the token is the first, by its number, at which the
    running sum of the kept weights exceeds it times their sum.

    Args:
        logits: A float tensor `[rows, vocab]`; computed in float32.
        temperature: `[rows]` or a scalar, float32. Where it is not above 0, the first largest logit wins.
        top_k: `[rows]` or a scalar, int64; 0 or below keeps all.
        top_p: `[rows]` or a scalar, float32; 1 or above keeps all, 0 or below the first.
        min_p: `[rows]` or a scalar, float32; 0 or below keeps all.
        seed: `[rows]` or a scalar, uint64.
        position: `[rows]` or a scalar, uint64: differs from draw to draw of one seed.
        stream: Tells draws of one seed and position apart.

    Returns:
        The tokens `[rows]`, int64, and the natural logarithms of their probabilities `[rows]`, float32, by the
        softmax of the logits as they are: temperature and the like change the draw, not these. A row whose largest
        logit is not finite (NaN, infinity, or nothing but minus infinity) gives -1 and NaN.

    Raises:
        TypeError: An element type is another.
        ValueError: The shapes or devices do not fit.
    """
    name = "sample_tokens"
    x, *parameters = _with_parameters(name, logits, temperature, top_k, top_p, min_p)
    tokens, logprobs = stage(
        name,
        x,
        *parameters,
        _per_row(name, x, seed, DType.uint64),
        _per_row(name, x, position, DType.uint64),
        stream=to_int(name, "stream", stream),
        with_logprobs=True,
    )
    return tokens.tensor, logprobs.tensor


def filter_logits(
    logits: TensorValueLike,
    temperature: TensorValueLike = 1.0,
    top_k: TensorValueLike = 0,
    top_p: TensorValueLike = 1.0,
    min_p: TensorValueLike = 0.0,
) -> TensorValue:
    """Returns logits whose softmax is the distribution that `sample_tokens` draws from.

    They are `(logits - max) / temperature` where a token is kept, and minus infinity elsewhere. Where the first
    largest logit wins, it is 0 and all others are minus infinity. A row whose largest logit is not finite is NaN.

    Args:
        logits: A float tensor `[rows, vocab]`; computed in float32.
        temperature: As for `sample_tokens`.
        top_k: As for `sample_tokens`.
        top_p: As for `sample_tokens`.
        min_p: As for `sample_tokens`.

    Returns:
        A float32 tensor `[rows, vocab]`.

    Raises:
        TypeError: An element type is another.
        ValueError: The shapes or devices do not fit.
    """
    name = "filter_logits"
    return stage_tensor(name, *_with_parameters(name, logits, temperature, top_k, top_p, min_p))


def random_uniform(
    seed: TensorValueLike, position: TensorValueLike, *, stream: int = 0
) -> TensorValue:
    """Returns uniform random numbers from 0 to below 1, multiples of 2^-24.

    Each is that of Philox 4x32-10 (Salmon et al., 2011) with the seed as key and (position, stream) as counter.

    Args:
        seed: A uint64 tensor.
        position: A uint64 tensor of its shape.
        stream: A number from 0 to below 2^32 that tells draws of one seed and position apart.

    Returns:
        A float32 tensor of that shape.

    Raises:
        TypeError: A tensor is not uint64.
        ValueError: The shapes or devices differ, or there is no such stream.
    """
    name = "random_uniform"
    return stage_tensor(
        name,
        to_tensor(name, seed, DType.uint64),
        to_tensor(name, position, DType.uint64),
        stream=to_int(name, "stream", stream),
    )


def apply_penalties(
    logits: TensorValueLike,
    frequency_data: TensorValueLike,
    frequency_offsets: TensorValueLike,
    *,
    frequency_penalty: TensorValueLike = 0.0,
    presence_penalty: TensorValueLike = 0.0,
    repetition_penalty: TensorValueLike = 1.0,
) -> TensorValue:
    """Returns logits, lowered for tokens that occurred.

    Of a token with count c above 0, the logit l becomes `l / repetition` if it is above 0, else `l * repetition`
    (Keskar et al., 2019), less `frequency * c + presence`.

    Args:
        logits: A float32 tensor `[rows, vocab]`.
        frequency_data: `[entries, 2]`, int32: a token and its count. Entries of tokens below 0 or beyond the
            vocabulary are left out.
        frequency_offsets: `[rows + 1]`, uint32: row b has the entries from `frequency_offsets[b]` on.
        frequency_penalty: `[rows]` or a scalar, float32.
        presence_penalty: `[rows]` or a scalar, float32.
        repetition_penalty: `[rows]` or a scalar, float32, not 0.

    Returns:
        A tensor like `logits`.

    Raises:
        TypeError: An element type is another.
        ValueError: The shapes or devices do not fit.
    """
    name = "apply_penalties"
    x = to_tensor(name, logits)
    penalties = (frequency_penalty, presence_penalty, repetition_penalty)
    return stage_tensor(
        name,
        x,
        to_tensor(name, frequency_data),
        to_tensor(name, frequency_offsets),
        *[_per_row(name, x, penalty, DType.float32) for penalty in penalties],
    )


def count_tokens(
    frequency_data: TensorValueLike,
    frequency_offsets: TensorValueLike,
    new_tokens: TensorValueLike,
) -> TensorValue:
    """Returns counts of tokens with one more token a row.

    The count of a token's first entry goes up by 1. Without an entry, the first free one of the row, that of a token
    below 0, becomes that of the token; when none is free, or the token is below 0 or above 2^31 - 1, nothing changes.

    Args:
        frequency_data: `[entries, 2]`, int32: a token and its count.
        frequency_offsets: `[rows + 1]`, uint32: row b has the entries from `frequency_offsets[b]` on.
        new_tokens: `[rows]`, int64.

    Returns:
        A tensor like `frequency_data`.

    Raises:
        TypeError: An element type is another.
        ValueError: The shapes or devices do not fit.
    """
    name = "count_tokens"
    return stage_tensor(
        name,
        to_tensor(name, frequency_data),
        to_tensor(name, frequency_offsets),
        to_tensor(name, new_tokens),
    )


def _per_row(op: str, logits: TensorValue, value: TensorValueLike, dtype: DType) -> TensorValue:
    """A parameter of each row, which may be given once for all."""
    tensor = to_tensor(op, value, dtype, logits.device)
    if tensor.rank == 0 and logits.rank != 0:
        return broadcast_to(tensor, logits.shape[:1])
    return tensor


def _with_parameters(
    op: str,
    logits: TensorValueLike,
    temperature: TensorValueLike,
    top_k: TensorValueLike,
    top_p: TensorValueLike,
    min_p: TensorValueLike,
) -> list[TensorValue]:
    x = to_tensor(op, logits)
    if x.dtype.is_float():
        x = cast(x, DType.float32)
    return [
        x,
        _per_row(op, x, temperature, DType.float32),
        _per_row(op, x, top_k, DType.int64),
        _per_row(op, x, top_p, DType.float32),
        _per_row(op, x, min_p, DType.float32),
    ]
