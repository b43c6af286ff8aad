# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the last layer of a language model to its logits."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from kvern.dtype import DType
from kvern.errors import InputError, ShapeError, UnsupportedError
from kvern.graph import Shape, TensorValue, ops

__all__ = ["LogitsPostprocessMixin", "ReturnHiddenStates", "ReturnLogits", "logits_postprocess"]

_Map = Callable[[TensorValue], TensorValue]


class ReturnLogits(str, Enum):
    """The tokens whose logits a model returns."""

    LAST_TOKEN = "last_token"
    VARIABLE = "variable"
    ALL = "all"


class ReturnHiddenStates(str, Enum):
    """The hidden states that a model returns behind its logits."""

    NONE = "none"
    LAST = "last"
    ALL = "all"
    ALL_NORMALIZED = "all_normalized"
    LAST_PER_DEVICE = "last_per_device"
    SELECTED_LAYERS = "selected_layers"


def logits_postprocess(
    h: TensorValue,
    input_row_offsets: TensorValue,
    return_n_logits: TensorValue,
    norm: _Map,
    lm_head: _Map,
    return_logits: ReturnLogits = ReturnLogits.LAST_TOKEN,
    return_hidden_states: ReturnHiddenStates = ReturnHiddenStates.NONE,
    logits_scaling: float = 1.0,
    *,
    logits_soft_cap: float = 0.0,
    selected_layers: TensorValue | None = None,
) -> tuple[TensorValue, ...]:
    """Returns the logits of new tokens, float32, the logits of the last token of each sequence first.

    B sequences have T new tokens, at least one each. Without `return_hidden_states` these are

    - LAST_TOKEN: `(last_logits,)`, `[B, vocab]`;
    - VARIABLE: `(last_logits, logits, offsets)`: the n last tokens of each sequence, `[B * n, vocab]`, and the first
      row of each, `[B + 1]`. A sequence of fewer tokens repeats its first;
    - ALL: `(last_logits, logits, input_row_offsets)`: all tokens, `[T, vocab]`.

    Hidden states come last: LAST, `[B, hidden]` before the norm; ALL, `[T, hidden]` before it; ALL_NORMALIZED, behind
    it; SELECTED_LAYERS, `selected_layers`.

    Args:
        h: `[T, hidden]`.
        input_row_offsets: uint32 `[B + 1]`: the first row of each sequence, and T.
        return_n_logits: int64. For VARIABLE a tensor of n elements, whose number counts and not its values: the
            sizes of what a graph returns follow from sizes of its inputs.
        norm: The last norm.
        lm_head: From hidden states to logits.
        return_logits: Which logits.
        return_hidden_states: Which hidden states.
        logits_scaling: What the logits are divided by.
        logits_soft_cap: Logits y become `c * tanh(y / c)`; 0 for logits as they are.
        selected_layers: What SELECTED_LAYERS returns.

    Raises:
        ValueError: return_n_logits is no such tensor, or selected_layers is missing.
        NotImplementedError: LAST_PER_DEVICE, for there is one device.
    """
    # Their values do as well.
    return_logits = ReturnLogits(return_logits)
    return_hidden_states = ReturnHiddenStates(return_hidden_states)
    if return_hidden_states is ReturnHiddenStates.LAST_PER_DEVICE:
        raise UnsupportedError(
            "logits_postprocess does not support hidden states by device; on one device LAST returns them"
        )

    def logits_of(rows: TensorValue) -> TensorValue:
        y = lm_head(norm(rows)).cast(DType.float32)
        y = y if logits_scaling == 1.0 else y / logits_scaling
        return y if logits_soft_cap == 0 else logits_soft_cap * ops.tanh(y / logits_soft_cap)

    last = input_row_offsets[1:].cast(DType.int64) - 1
    last_rows = ops.gather(h, last, axis=0)
    if return_logits is ReturnLogits.LAST_TOKEN:
        outputs = [logits_of(last_rows)]
    elif return_logits is ReturnLogits.ALL:
        logits = logits_of(h)
        outputs = [ops.gather(logits, last, axis=0), logits, input_row_offsets]
    else:
        rows, offsets = _last_rows(input_row_offsets, return_n_logits)
        logits = logits_of(ops.gather(h, rows, axis=0))
        outputs = [ops.gather(logits, offsets[1:] - 1, axis=0), logits, offsets.cast(DType.uint32)]
    if return_hidden_states is ReturnHiddenStates.LAST:
        outputs.append(last_rows)
    elif return_hidden_states is ReturnHiddenStates.ALL:
        outputs.append(h)
    elif return_hidden_states is ReturnHiddenStates.ALL_NORMALIZED:
        outputs.append(norm(h))
    elif return_hidden_states is ReturnHiddenStates.SELECTED_LAYERS:
        if selected_layers is None:
            raise InputError("logits_postprocess: expected selected_layers for SELECTED_LAYERS")
        outputs.append(selected_layers)
    return tuple(outputs)


def _last_rows(offsets: TensorValue, count: TensorValue) -> tuple[TensorValue, TensorValue]:
    """Returns the rows of the last n tokens of each sequence, and the first of them of each sequence."""
    if count.rank != 1 or count.shape == Shape([1]):
        raise ShapeError(
            "logits_postprocess: expected return_n_logits with as many elements as logits of each sequence are to be "
            f"returned, and so a size other than 1, such as a name, but got {count!r}"
        )
    n, device = count.shape[0], offsets.device
    numbers = offsets.cast(DType.int64)
    starts, stops = ops.unsqueeze(numbers[:-1], 1), ops.unsqueeze(numbers[1:], 1)
    steps = ops.range(0, n, dtype=DType.int64, device=device)
    total = TensorValue(n).to(device)
    rows = ops.max(stops - total + steps, starts)
    firsts = ops.range(0, offsets.shape[0], dtype=DType.int64, device=device) * total
    return ops.reshape(rows, [-1]), firsts


class LogitsPostprocessMixin:
    """What a model needs to return logits.

    Attributes:
        norm: The last norm.
        lm_head: From hidden states to logits.
        return_logits: Which logits it returns.
        return_hidden_states: Which hidden states.
        logits_scaling: What the logits are divided by.
        logits_soft_cap: Bound of the logits; 0 for none.
    """

    norm: _Map
    lm_head: _Map
    return_logits: ReturnLogits
    return_hidden_states: ReturnHiddenStates
    logits_scaling: float
    logits_soft_cap: float

    def _postprocess_logits(
        self,
        h: TensorValue,
        input_row_offsets: TensorValue,
        return_n_logits: TensorValue,
        selected_layers: TensorValue | None = None,
    ) -> tuple[TensorValue, ...]:
        """Returns what `logits_postprocess` does for this model."""
        return logits_postprocess(
            h,
            input_row_offsets,
            return_n_logits,
            self.norm,
            self.lm_head,
            self.return_logits,
            self.return_hidden_states,
            self.logits_scaling,
            logits_soft_cap=self.logits_soft_cap,
            selected_layers=selected_layers,
        )
