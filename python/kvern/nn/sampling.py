# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that choose tokens; those of speculative decoding check what a draft model proposed.

Terms: B sequences, N draft tokens each, a vocabulary of V. Target logits are rows `[rows, V]`: row
`offsets[b] + i` is the prediction of the token at place i of sequence b, i from 0 to N. A choice depends on its logits,
seed and position only; give other positions to the next step.
"""

from __future__ import annotations

from kvern.dtype import DType
from kvern.errors import InputError, InputTypeError
from kvern.graph import DeviceRef, ShapeLike, TensorValue, TensorValueLike, ops
from kvern.nn._drafts import ACCEPT, RECOVER, Drafts, count_up, pick
from kvern.nn.layer import Module

__all__ = ["MinPSampler", "RejectionSampler", "RejectionSamplerWithResiduals"]


class MinPSampler(Module):
    """Draws tokens whose probability is at least `min_p` times the largest one.

    Source: Nguyen et al., "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs", 2024.
    """

    def __init__(
        self,
        dtype: DType,
        shape: ShapeLike,
        temperature: float = 1,
        *,
        min_p: float = 0.05,
    ) -> None:
        """Checks the parameters.

        Args:
            dtype: Element type of the logits.
            shape: Shape of the logits, `[batch, vocab]`.
            temperature: What logits are divided by; 0 takes the largest.
            min_p: The part of the largest probability, from 0 to 1.

        Raises:
            ValueError: The temperature is negative or `min_p` not from 0 to 1.
        """
        super().__init__()
        _check_temperature(temperature)
        if not 0 <= min_p <= 1:
            raise InputError(f"expected min_p to be from 0 to 1, but got {min_p}")
        self.dtype = dtype
        self.shape = shape
        self.temperature = temperature
        self.min_p = min_p

    def __call__(
        self,
        input: TensorValueLike,
        *,
        seed: TensorValueLike = 0,
        position: TensorValueLike | None = None,
    ) -> TensorValue:
        """Returns a token for each row: int64 `[batch, 1]`.

        Args:
            input: Logits of the layer's shape and type.
            seed: uint64, `[batch]` or a scalar.
            position: uint64, `[batch]` or a scalar; by default the number of the row.

        Raises:
            TypeError: The logits are of another type.
            ValueError: They have another shape.
        """
        logits = TensorValue(input)
        if logits.dtype is not self.dtype:
            raise InputTypeError(f"expected logits of {self.dtype}, but got {logits.dtype}")
        logits = ops.rebind(logits, self.shape)
        if position is None:
            position = count_up(logits.shape[0], logits.device).cast(DType.uint64)
        tokens, _ = ops.sample_tokens(
            logits, float(self.temperature), 0, 1.0, self.min_p, seed=seed, position=position
        )
        return ops.unsqueeze(tokens, 1)


class RejectionSampler(Module):
    """Accepts draft tokens whose logit by the draft exceeds that by the target by no more than `eps`.

    The token after the accepted ones is drawn from the target.
    """

    def __init__(
        self,
        device: DeviceRef,
        top_k: int = 1,
        top_p: float = 1,
        temperature: float = 1.0,
        eps: float = 1e-05,
    ) -> None:
        """Checks the parameters.

        Args:
            device: Where it runs.
            top_k: Largest logits that may be drawn; 0 or below for all.
            top_p: Their probability that may be drawn.
            temperature: What logits are divided by; 0 takes the largest.
            eps: The difference that is accepted.

        Raises:
            ValueError: The temperature is negative.
        """
        super().__init__()
        _check_temperature(temperature)
        self.device = device
        self.top_k = top_k
        self.top_p = top_p
        self.temperature = temperature
        self.eps = eps

    def __call__(
        self,
        draft_tokens: TensorValueLike,
        draft_logits_for_sampled_tokens: TensorValueLike,
        target_logits: TensorValueLike,
        target_logit_offsets: TensorValueLike,
        *,
        seed: TensorValueLike = 0,
        position: TensorValueLike = 0,
    ) -> tuple[TensorValue, TensorValue]:
        """Returns the first rejected place of each sequence, N if there is none, and the token there.

        Args:
            draft_tokens: int64 `[B, N]`. One out of the vocabulary is rejected.
            draft_logits_for_sampled_tokens: float32 `[B, N]`: the draft's logits of those tokens.
            target_logits: float32 `[rows, V]`.
            target_logit_offsets: uint32 `[B + 1]`: the first row of each sequence, which has N + 1.
            seed: uint64, `[B]` or a scalar.
            position: uint64, `[B]` or a scalar.

        Returns:
            Two tensors int64 `[B, 1]`.

        Raises:
            TypeError: An element type is another.
            ValueError: The shapes do not fit.
        """
        batch = Drafts.of(draft_tokens, target_logits, target_logit_offsets)
        given = TensorValue(draft_logits_for_sampled_tokens)
        rejected = ops.greater(given - batch.of_drafts(batch.target), self.eps)
        first = batch.first(rejected)
        logits = ops.gather(batch.target, batch.starts + ops.squeeze(first, 1), axis=0)
        tokens, _ = ops.sample_tokens(
            logits,
            float(self.temperature),
            self.top_k,
            float(self.top_p),
            seed=seed,
            position=position,
        )
        return first, ops.unsqueeze(tokens, 1)


class RejectionSamplerWithResiduals(Module):
    """Accepts draft tokens so that the result is distributed as if the target had been sampled.

    With p and q the distributions of target and draft, draft token x is accepted with probability
    `min(1, p[x] / q[x])`; after the first that is not, the token is drawn from `max(p - q, 0)`, normalized.

    Source: Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding", 2023; Chen et
    al., "Accelerating Large Language Model Decoding with Speculative Sampling", 2023.
    """

    def __init__(
        self,
        device: DeviceRef,
        top_k: int = 1,
        temperature: float = 1.0,
        eps: float = 1e-10,
        debug: bool = False,
    ) -> None:
        """Checks the parameters.

        Args:
            device: Where it runs.
            top_k: Largest logits that may be drawn; 0 or below for all.
            temperature: What logits are divided by; 0 takes the largest.
            eps: What is added to q before the division.
            debug: Whether the ratios `p[x] / (q[x] + eps)` are returned too.

        Raises:
            ValueError: The temperature is negative.
        """
        super().__init__()
        _check_temperature(temperature)
        self.device = device
        self.top_k = top_k
        self.temperature = temperature
        self.eps = eps
        self.debug = debug

    def __call__(
        self,
        draft_tokens: TensorValueLike,
        draft_logits: TensorValueLike,
        target_logits: TensorValueLike,
        target_logit_offsets: TensorValueLike,
        *,
        seed: TensorValueLike = 0,
        position: TensorValueLike = 0,
    ) -> tuple[TensorValue, ...]:
        """Returns the first rejected place of each sequence, tokens for all places, and one after all drafts.

        The tokens of a step are the drafts up to the first rejected place f, then `recovered[f]`; all drafts and the
        bonus token where f is N.

        Args:
            draft_tokens: int64 `[B, N]`. One out of the vocabulary is rejected.
            draft_logits: float32 `[B, N, V]`: all logits of the draft.
            target_logits: float32 `[rows, V]`.
            target_logit_offsets: uint32 `[B + 1]`: the first row of each sequence, which has N + 1.
            seed: uint64, `[B]` or a scalar.
            position: uint64, `[B]` or a scalar: those from it to N after it are used.

        Returns:
            int64 `[B, 1]`, `[B, N]` and `[B, 1]`; with `debug`, the ratios float32 `[B, N]`.

        Raises:
            TypeError: An element type is another.
            ValueError: The shapes do not fit.
        """
        batch = Drafts.of(draft_tokens, target_logits, target_logit_offsets)
        shape = [batch.size * batch.drafts, batch.vocab]
        draft = ops.softmax(self._filtered(ops.reshape(draft_logits, shape)))
        rows = ops.reshape(batch.rows, [-1])
        target = ops.softmax(self._filtered(ops.gather(batch.target, rows, axis=0)))
        every = count_up(shape[0], batch.target.device)
        p, q = (pick(x, every, ops.reshape(batch.tokens, [-1])) for x in (target, draft))
        ratio = ops.reshape(p / (q + self.eps), batch.tokens.shape)
        ratio = ops.where(batch.known, ratio, 0.0)
        seeds, positions = batch.draws(seed, position)
        rejected = ops.greater(ops.random_uniform(seeds, positions, stream=ACCEPT), ratio)
        first = batch.first(rejected)

        residual = ops.max(target - draft, 0.0)
        is_empty = ops.logical_not(ops.greater(ops.sum(residual), 0.0))
        residual = ops.log(ops.where(is_empty, target, residual))
        recovered, _ = ops.sample_tokens(
            residual,
            seed=ops.reshape(seeds, [-1]),
            position=ops.reshape(positions, [-1]),
            stream=RECOVER,
        )
        last = ops.gather(batch.target, batch.starts + batch.count, axis=0)
        bonus, _ = ops.sample_tokens(
            last,
            float(self.temperature),
            self.top_k,
            seed=seed,
            position=batch.per_row(position) + batch.count.cast(DType.uint64),
        )
        results = (
            first,
            ops.reshape(recovered, batch.tokens.shape),
            ops.unsqueeze(bonus, 1),
        )
        return (*results, ratio) if self.debug else results

    def _filtered(self, logits: TensorValue) -> TensorValue:
        return ops.filter_logits(logits, float(self.temperature), self.top_k)


def _check_temperature(temperature: float) -> None:
    if not temperature >= 0:
        raise InputError(f"expected a temperature of 0 or above, but got {temperature}")
