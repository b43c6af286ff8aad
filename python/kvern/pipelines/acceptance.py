# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that check the tokens of a draft model.

Terms: B sequences, N draft tokens each, a vocabulary of V; row `offsets[b] + i` of the target logits predicts the token
at place i of sequence b, i from 0 to N. The names of these sizes are `batch_size`, `num_steps`, `vocab_size`, and
`total_output_len` for the rows.
"""

from __future__ import annotations

from kvern.dtype import DType
from kvern.errors import UnsupportedError
from kvern.graph import DeviceRef, Dim, Graph, TensorType, TensorValue, ops
from kvern.nn._drafts import ACCEPT, RECOVER, Drafts, count_up, pick
from kvern.nn.sampling import RejectionSampler, RejectionSamplerWithResiduals

__all__ = [
    "build_greedy_acceptance_sampler_graph",
    "build_stochastic_acceptance_sampler_graph",
    "rejection_sampler",
    "rejection_sampler_with_residuals",
]

_B, _N, _V = Dim("batch_size"), Dim("num_steps"), Dim("vocab_size")


def _type(device: DeviceRef, dtype: DType, *shape: Dim) -> TensorType:
    return TensorType(dtype, shape, device)


def _draft_types(device: DeviceRef, *middle: TensorType) -> list[TensorType]:
    """Draft tokens, what else is known of the draft, target logits, offsets."""
    return [
        _type(device, DType.int64, _B, _N),
        *middle,
        _type(device, DType.float32, Dim("total_output_len"), _V),
        _type(device, DType.uint32, _B + 1),
    ]


def _tensors(graph: Graph) -> list[TensorValue]:
    return [value.tensor for value in graph.inputs]


def build_greedy_acceptance_sampler_graph(device: DeviceRef) -> Graph:
    """Returns a graph that accepts draft tokens as long as they are the target's likeliest.

    Inputs: draft tokens int64 `[B, N]`, target logits float32 `[rows, V]`, offsets uint32 `[B + 1]`. Outputs, int64:
    the first rejected place, N if there is none, `[B, 1]`; the target's likeliest token at each place of a draft token
    `[B, N]`, and at the place after them `[B, 1]`.

    Args:
        device: Where it runs.
    """
    with Graph("greedy_acceptance", input_types=_draft_types(device)) as graph:
        batch = Drafts.of(*_tensors(graph))
        best = ops.squeeze(ops.argmax(batch.target), 1)
        wanted = ops.reshape(ops.gather(best, ops.reshape(batch.rows, [-1]), axis=0), [_B, _N])
        accepted = ops.logical_and(batch.known, ops.equal(batch.tokens, wanted))
        first = batch.first(ops.logical_not(accepted))
        bonus = ops.gather(best, batch.starts + batch.count, axis=0)
        graph.output(first, wanted, ops.unsqueeze(bonus, 1))
    return graph


def build_stochastic_acceptance_sampler_graph(
    device: DeviceRef, *, draft_proposal: str = "argmax"
) -> Graph:
    """Returns a graph that accepts draft tokens, which were not drawn, so that the target might have been sampled.

    A token x is accepted with the target's probability p[x] of it; after the first that is not, the token is drawn from
    p without x, normalized. Tokens of places beyond are drawn likewise.

    Inputs: draft tokens int64 `[B, N]`, target logits float32 `[rows, V]`, offsets uint32 `[B + 1]`, and, `[B]`,
    temperature float32, top_k int64, top_p float32, seed uint64, position uint64; positions from it to N after it are
    used. Outputs, int64: the first rejected place, N if there is none, `[B, 1]`; the token to take where a place is
    rejected `[B, N]`; the one after all draft tokens `[B, 1]`.

    Args:
        device: Where it runs.
        draft_proposal: How the draft chose its tokens: "argmax", without drawing.

    Raises:
        NotImplementedError: The draft chose otherwise; see `rejection_sampler_with_residuals`.
    """
    if draft_proposal != "argmax":
        raise UnsupportedError(
            f"expected draft_proposal to be 'argmax', but got {draft_proposal!r}"
        )
    rows = [DType.float32, DType.int64, DType.float32, DType.uint64, DType.uint64]
    types = _draft_types(device) + [_type(device, dtype, _B) for dtype in rows]
    with Graph("stochastic_acceptance", input_types=types) as graph:
        drafts, target, offsets, temperature, top_k, top_p, seed, position = _tensors(graph)
        batch = Drafts.of(drafts, target, offsets)

        def per_draft(value: TensorValue) -> TensorValue:
            return ops.reshape(ops.broadcast_to(ops.unsqueeze(value, 1), [_B, _N]), [_B * _N])

        seeds, positions = batch.draws(seed, position)
        logits = ops.gather(target, ops.reshape(batch.rows, [_B * _N]), axis=0)
        logits = ops.filter_logits(logits, *map(per_draft, (temperature, top_k, top_p)))
        every = count_up(_B * _N, target.device)
        chosen = ops.reshape(batch.tokens, [_B * _N])
        probability = ops.reshape(pick(ops.softmax(logits), every, chosen), [_B, _N])
        probability = ops.where(batch.known, probability, 0.0)
        uniform = ops.random_uniform(seeds, positions, stream=ACCEPT)
        first = batch.first(ops.greater_equal(uniform, probability))
        # Where nothing else may be drawn the token is accepted, and what is recovered is of no use.
        columns = ops.unsqueeze(count_up(_V, target.device), 0)
        is_draft = ops.equal(columns, ops.unsqueeze(chosen, 1))
        is_draft = ops.logical_and(is_draft, ops.unsqueeze(ops.reshape(batch.known, [_B * _N]), 1))
        others = ops.where(is_draft, float("-inf"), logits)
        recovered, _ = ops.sample_tokens(
            others,
            seed=ops.reshape(seeds, [_B * _N]),
            position=ops.reshape(positions, [_B * _N]),
            stream=RECOVER,
        )
        last = ops.gather(target, batch.starts + batch.count, axis=0)
        bonus, _ = ops.sample_tokens(
            last,
            temperature,
            top_k,
            top_p,
            seed=seed,
            position=position + batch.count.cast(DType.uint64),
        )
        graph.output(first, ops.reshape(recovered, [_B, _N]), ops.unsqueeze(bonus, 1))
    return graph


def rejection_sampler(device: DeviceRef) -> Graph:
    """Returns a graph of `RejectionSampler` with its defaults.

    Inputs: draft tokens int64 `[B, N]`, the draft's logits of them float32 `[B, N]`, target logits float32 `[rows, V]`,
    offsets uint32 `[B + 1]`, seed and position uint64 `[B]`. Outputs: those of the layer.

    Args:
        device: Where it runs.
    """
    types = _draft_types(device, _type(device, DType.float32, _B, _N))
    types += [_type(device, DType.uint64, _B)] * 2
    with Graph("rejection_sampler", input_types=types) as graph:
        *inputs, seed, position = _tensors(graph)
        graph.output(*RejectionSampler(device)(*inputs, seed=seed, position=position))
    return graph


def rejection_sampler_with_residuals(device: DeviceRef, *, debug: bool = False) -> Graph:
    """Returns a graph of `RejectionSamplerWithResiduals` with its defaults.

    Inputs: draft tokens int64 `[B, N]`, the draft's logits float32 `[B, N, V]`, target logits float32 `[rows, V]`,
    offsets uint32 `[B + 1]`, seed and position uint64 `[B]`. Outputs: those of the layer.

    Args:
        device: Where it runs.
        debug: Whether the ratios of probabilities are an output too.
    """
    types = _draft_types(device, _type(device, DType.float32, _B, _N, _V))
    types += [_type(device, DType.uint64, _B)] * 2
    with Graph("rejection_sampler_with_residuals", input_types=types) as graph:
        *inputs, seed, position = _tensors(graph)
        sampler = RejectionSamplerWithResiduals(device, debug=debug)
        graph.output(*sampler(*inputs, seed=seed, position=position))
    return graph
