# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nn.sampling`, and the penalties of `nn.kernels` on buffers."""

from __future__ import annotations

import numpy as np
import pytest
from chi_square import assert_drawn
from compiling import cpu_buffer, cpu_tensor, run, session
from kvern.dtype import DType
from kvern.graph import DeviceRef, Dim, Graph, ops
from kvern.nn import kernels
from kvern.nn.sampling import MinPSampler, RejectionSampler, RejectionSamplerWithResiduals
from op_cases.sampling import COUNTS, ROWS, counted, penalized

CPU, F32 = DeviceRef.CPU(), DType.float32


def test_min_p() -> None:
    sampler = MinPSampler(F32, ["rows", 6], temperature=1.5, min_p=0.2)
    with Graph("min_p", input_types=[cpu_tensor(F32, ["rows", 6])]) as graph:
        graph.output(sampler(graph.inputs[0].tensor, seed=5))
    logits = np.array([0.5, 2.0, 1.5, -3.0, 0.1, -0.9], np.float32)
    (tokens,) = run(session().load(graph), [np.broadcast_to(logits, (20000, 6)).copy()])
    assert tokens.shape == (20000, 1)
    weights = np.exp((logits.astype(np.float64) - 2.0) / 1.5)
    assert_drawn(tokens, np.where(weights >= 0.2, weights, 0.0))


def test_penalties_change_buffers() -> None:
    types = [cpu_buffer(F32, ["b", 10]), cpu_buffer(DType.int32, ["n", 2])]
    types += [cpu_tensor(DType.uint32, [Dim("b") + 1]), cpu_tensor(DType.int64, ["b"])]
    with Graph("penalties", input_types=types) as graph:
        logits, data, offsets, tokens = graph.inputs
        kernels.update_frequency_data(data.buffer, offsets.tensor, tokens.tensor)
        kernels.apply_penalties_to_logits(
            logits.buffer,
            ops.buffer_load(data.buffer),
            offsets.tensor,
            frequency_penalty=0.5,
            repetition_penalty=2.0,
        )
        graph.output()
    memory = np.linspace(-2, 2, 40, dtype=np.float32).reshape(4, 10)
    counts, new = COUNTS.copy(), np.array([3, 3, 8, 2**40], np.int64)
    expected = counted(COUNTS, ROWS, np.array([3, 3, 8, -1]))
    half, zero, two = (np.full(4, x) for x in (0.5, 0.0, 2.0))
    lowered = penalized(memory.astype(np.float64), expected, ROWS, half, zero, two)
    run(session().load(graph), [memory, counts, ROWS, new])
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_allclose(memory, lowered, atol=1e-6)


def test_what_is_refused() -> None:
    for make in (
        lambda: MinPSampler(F32, [1, 2], temperature=-1),
        lambda: RejectionSampler(CPU, temperature=float("nan")),
        lambda: RejectionSamplerWithResiduals(CPU, temperature=-0.5),
    ):
        with pytest.raises(ValueError, match="expected a temperature of 0 or above, but got"):
            make()
    with pytest.raises(ValueError, match=r"expected min_p to be from 0 to 1, but got 1\.5"):
        MinPSampler(F32, [1, 2], min_p=1.5)
    with Graph("refused", input_types=[cpu_tensor(DType.bfloat16, ["b", 6])]) as graph:
        with pytest.raises(TypeError, match="expected logits of"):
            MinPSampler(F32, ["b", 6])(graph.inputs[0].tensor)
        with pytest.raises(ValueError, match=r"expected draft tokens \[batch, drafts\]"):
            RejectionSampler(CPU)(*[graph.inputs[0].tensor[:, 0]] * 4)
