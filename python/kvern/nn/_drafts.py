# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draft tokens of speculative decoding, and the target's logits for them."""

from __future__ import annotations

from dataclasses import dataclass

from kvern.dtype import DType
from kvern.errors import InputError
from kvern.graph import DeviceRef, Dim, TensorValue, TensorValueLike, ops

__all__ = ["ACCEPT", "RECOVER", "Drafts", "count_up", "pick"]

# Streams of random numbers, besides 0: what the draws of one seed and position are for.
ACCEPT, RECOVER = 1, 2


@dataclass(frozen=True)
class Drafts:
    """Draft tokens and the target's logits for them.

    Attributes:
        tokens: `[B, N]`, 0 where they are out of the vocabulary.
        known: `[B, N]`, where they are in it.
        target: `[rows, V]`.
        starts: `[B]`, the first row of each sequence.
        rows: `[B, N]`, the row of each draft token.
        size, drafts, vocab: B, N and V.
        count: N as a scalar int64.
    """

    tokens: TensorValue
    known: TensorValue
    target: TensorValue
    starts: TensorValue
    rows: TensorValue
    size: Dim
    drafts: Dim
    vocab: Dim
    count: TensorValue

    @classmethod
    def of(
        cls, tokens: TensorValueLike, target: TensorValueLike, offsets: TensorValueLike
    ) -> Drafts:
        tokens, target = TensorValue(tokens), TensorValue(target)
        if tokens.rank != 2 or target.rank != 2:
            raise InputError(
                f"expected draft tokens [batch, drafts] and target logits [rows, vocab], but got {tokens!r} and "
                f"{target!r}"
            )
        size, drafts = tokens.shape
        vocab = target.shape[1]
        starts = ops.rebind(TensorValue(offsets)[:-1], [size]).cast(DType.int64)
        places = count_up(drafts, target.device)
        rows = ops.unsqueeze(starts, 1) + ops.unsqueeze(places, 0)
        count = TensorValue(drafts)
        known = ops.logical_and(
            ops.greater_equal(tokens, 0), ops.greater(TensorValue(vocab), tokens)
        )
        tokens = ops.where(known, tokens, 0)
        return cls(tokens, known, target, starts, rows, size, drafts, vocab, count)

    def of_drafts(self, logits: TensorValue) -> TensorValue:
        """The logit of each draft token; minus infinity for one out of the vocabulary."""
        flat = ops.reshape(self.rows, [-1]), ops.reshape(self.tokens, [-1])
        values = ops.reshape(pick(logits, *flat), self.tokens.shape)
        return ops.where(self.known, values, float("-inf"))

    def first(self, rejected: TensorValue) -> TensorValue:
        """The first rejected place `[B, 1]`, N if there is none."""
        places = ops.broadcast_to(count_up(self.drafts, rejected.device), rejected.shape)
        return ops.min(ops.min(ops.where(rejected, places, self.count), axis=1), self.count)

    def per_row(self, value: TensorValueLike) -> TensorValue:
        tensor = (
            value
            if isinstance(value, TensorValue)
            else ops.constant(value, DType.uint64, self.target.device)
        )
        return ops.broadcast_to(tensor, [self.size])

    def draws(
        self, seed: TensorValueLike, position: TensorValueLike
    ) -> tuple[TensorValue, TensorValue]:
        """Seeds and positions `[B, N]`: of place i, the position i after that of the sequence."""
        shape = self.tokens.shape
        places = count_up(self.drafts, self.target.device).cast(DType.uint64)
        seeds = ops.broadcast_to(ops.unsqueeze(self.per_row(seed), 1), shape)
        starts = ops.unsqueeze(self.per_row(position), 1)
        return seeds, starts + ops.unsqueeze(places, 0)


def count_up(count: Dim, device: DeviceRef) -> TensorValue:
    """0 to below `count`."""
    return ops.range(0, count, dtype=DType.int64, device=device)


def pick(x: TensorValue, rows: TensorValue, columns: TensorValue) -> TensorValue:
    """Elements of x at places `[n]`."""
    return ops.gather(ops.reshape(x, [-1]), rows * x.shape[1] + columns, axis=0)
