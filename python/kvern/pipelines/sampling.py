# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From logits to tokens: the graph that samples, and what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import InputError, InputTypeError
from kvern.graph import DeviceRef, Dim, Graph, TensorType, TensorValue, ops
from kvern.nn._drafts import count_up, pick

__all__ = ["FrequencyData", "SamplingConfig", "token_sampler"]


@dataclass(frozen=True)
class SamplingConfig:
    """What a sampler can do; how a row is sampled is given with the row.

    Attributes:
        in_dtype: Element type of the logits; they are computed with in float32.
        enable_penalties: Whether rows may have penalties for tokens that occurred.
        enable_structured_output: Whether rows have masks of the tokens that are allowed.
    """

    in_dtype: DType = DType.float32
    enable_penalties: bool = False
    enable_structured_output: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.in_dtype, DType) or not self.in_dtype.is_float():
            raise InputTypeError(f"expected a float DType as in_dtype, but got {self.in_dtype!r}")
        for name in ("enable_penalties", "enable_structured_output"):
            if not isinstance(getattr(self, name), bool):
                raise InputTypeError(
                    f"expected {name} to be True or False, but got {getattr(self, name)!r}"
                )


@dataclass(frozen=True)
class FrequencyData:
    """How often tokens occurred in each sequence of a batch.

    Attributes:
        data: `[entries, 2]`, int32: a token and its count; token -1 is a free entry.
        offsets: `[batch + 1]`, uint32: sequence b has the entries from `offsets[b]` to below `offsets[b + 1]`.
    """

    data: np.ndarray[Any, Any]
    offsets: np.ndarray[Any, Any]

    @classmethod
    def of(cls, sequences: Sequence[Iterable[int]], *, room: int = 0) -> FrequencyData:
        """Counts the tokens of sequences.

        Args:
            sequences: The tokens of each.
            room: Free entries of each sequence, for tokens that are yet to come.

        Raises:
            ValueError: `room` is negative, or a token does not fit in int32.
        """
        if room < 0:
            raise InputError(f"expected room to be 0 or more, but got {room}")
        free = np.tile(np.array([-1, 0], np.int32), (room, 1))
        rows: list[np.ndarray[Any, Any]] = [free[:0]]
        offsets = [0]
        for sequence in sequences:
            tokens = list(sequence)
            for token in (min(tokens), max(tokens)) if tokens else ():
                if not 0 <= token < 2**31:
                    raise InputError(f"expected tokens from 0 to below 2^31, but got {token}")
            entries = np.unique(np.array(tokens, np.int32), return_counts=True)
            rows += [np.stack(entries, 1).astype(np.int32), free]
            offsets.append(offsets[-1] + len(entries[0]) + room)
        return cls(np.concatenate(rows), np.array(offsets, np.uint32))


def token_sampler(
    sampling_config: SamplingConfig,
    device: DeviceRef,
    return_logits: bool = False,
    needs_bitmask_input: bool | None = None,
) -> Graph:
    """Returns a graph that draws the next token of each sequence of a batch; see `ops.sample_tokens`.

    Its inputs, in this order, with `batch_size` and `vocab_size` as their names of sizes:

    - logits `[batch, vocab]` of `sampling_config.in_dtype`;
    - temperature float32, top_k int64, top_p float32, min_p float32, seed uint64, position uint64, all `[batch]`.
      The position is a number that differs from draw to draw of a seed, as the index of the token in its sequence;
    - with a mask: bitmask bool `[batch, vocab]`, True where a token is allowed;
    - with `enable_penalties`: frequency_data int32 `[entries, 2]` and frequency_offsets uint32 `[batch + 1]`
      (`FrequencyData`), frequency_penalty, presence_penalty and repetition_penalty float32 `[batch]`.

    Its outputs: tokens int64 `[batch]`; their log-probabilities float32 `[batch]`, those of the logits before masks,
    penalties, temperature and the like; with `return_logits`, the logits float32 `[batch, vocab]` after masks and
    penalties. A row without a largest finite logit gives token -1 and NaN.

    Args:
        sampling_config: What the sampler can do.
        device: Where it runs.
        return_logits: Whether the logits are an output too.
        needs_bitmask_input: Whether there is a mask; as `enable_structured_output` says by default.

    Raises:
        TypeError: An argument is of another type.
    """
    if not isinstance(sampling_config, SamplingConfig):
        raise InputTypeError(f"expected a SamplingConfig, but got {sampling_config!r}")
    masked = (
        sampling_config.enable_structured_output
        if needs_bitmask_input is None
        else needs_bitmask_input
    )
    logits_shape = [Dim("batch_size"), Dim("vocab_size")]

    def per_row(dtype: DType) -> TensorType:
        return TensorType(dtype, ["batch_size"], device)

    types = [
        TensorType(sampling_config.in_dtype, logits_shape, device),
        per_row(DType.float32),
        per_row(DType.int64),
        per_row(DType.float32),
        per_row(DType.float32),
        per_row(DType.uint64),
        per_row(DType.uint64),
    ]
    if masked:
        types.append(TensorType(DType.bool, logits_shape, device))
    if sampling_config.enable_penalties:
        types += [
            TensorType(DType.int32, ["frequency_entries", 2], device),
            TensorType(DType.uint32, [Dim("batch_size") + 1], device),
            *[per_row(DType.float32)] * 3,
        ]
    with Graph("token_sampler", input_types=types) as graph:
        given = iter([value.tensor for value in graph.inputs])
        logits = ops.cast(next(given), DType.float32)
        temperature, top_k, top_p, min_p, seed, position = (next(given) for _ in range(6))
        changed = logits
        if masked:
            changed = ops.where(next(given), changed, float("-inf"))
        if sampling_config.enable_penalties:
            data, offsets, frequency, presence, repetition = given
            changed = ops.apply_penalties(
                changed,
                data,
                offsets,
                frequency_penalty=frequency,
                presence_penalty=presence,
                repetition_penalty=repetition,
            )
        tokens, logprobs = ops.sample_tokens(
            changed, temperature, top_k, top_p, min_p, seed=seed, position=position
        )
        if changed is not logits:
            logprobs = _logprobs(logits, tokens)
        graph.output(tokens, logprobs, *([changed] if return_logits else []))
    return graph


def _logprobs(logits: TensorValue, tokens: TensorValue) -> TensorValue:
    """Logarithms of the probabilities of tokens `[rows]` by logits `[rows, vocab]`; NaN for tokens below 0."""
    rows = count_up(logits.shape[0], logits.device)
    values = pick(ops.logsoftmax(logits), rows, ops.max(tokens, 0))
    return ops.where(ops.greater_equal(tokens, 0), values, float("nan"))
