# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that are known when the graph is built, buffers, and subgraphs."""

from __future__ import annotations

import numpy as np
from compiling import cpu_tensor
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorValue, ops

from op_cases.case import ALL, NUMBERS, Case, per_dtype, sample

CPU = DeviceRef.CPU()
F32 = DType.float32


def _constant(dtype: DType) -> Case:
    value = sample(dtype, [3, 5])
    widened = value.astype(np.float64) if dtype.is_float() else value
    return Case(
        "constant",
        "",
        lambda x: [ops.constant(value, dtype, CPU), ops.constant(value[:0], dtype, CPU)],
        lambda x: [widened, widened[:0]],
        [(np.zeros(1, np.float32),)],
    )


def _range(dtype: DType) -> Case:
    start, stop, step = (0.5, 4, 0.5) if dtype.is_float() else (1, 20, 3)
    return Case(
        "range",
        "",
        lambda x: ops.range(start, stop, step, dtype=dtype, device=CPU),
        lambda x: np.arange(start, stop, step),
        [(np.zeros(1, np.float32),)],
    )


def _named_range(x: TensorValue) -> TensorValue:
    return ops.range(0, x.shape[0], 1, out_dim=x.shape[0], dtype=DType.int64, device=CPU)


def _double(name: str) -> Graph:
    """A subgraph of the graph that is being built: x * 2 + 1."""
    graph = Graph.current.add_subgraph(name, input_types=[cpu_tensor(F32, ["rows", 3])])
    with graph:
        graph.output(graph.inputs[0].tensor * 2 + 1)
    return graph


def _call(x: TensorValue) -> list[TensorValue]:
    subgraph = _double("double")
    once = ops.call(subgraph, x)[0].tensor
    return [once, ops.call(subgraph, once)[0].tensor]


CASES = [
    *per_dtype(ALL, _constant),
    Case(
        "constant",
        "numbers",
        lambda x: [ops.constant(1.5, F32, CPU) + x, ops.constant(7, DType.int32, CPU)],
        lambda x: [x + 1.5, np.array(7)],
        [(sample(F32, [3]),)],
    ),
    *per_dtype(NUMBERS, _range),
    Case(
        "range",
        "backwards",
        lambda x: ops.range(5, -5, -2, dtype=DType.int32, device=CPU),
        lambda x: np.arange(5, -5, -2, dtype=np.int32),
        [(np.zeros(1, np.float32),)],
    ),
    Case(
        "range",
        "named",
        _named_range,
        lambda x: np.arange(x.shape[0]),
        [(np.zeros(n, np.float32),) for n in (0, 1, 17)],
        shapes=[["n"]],
    ),
    Case(
        "call",
        "",
        _call,
        lambda x: [x * 2 + 1, (x * 2 + 1) * 2 + 1],
        [(sample(F32, [n, 3]),) for n in (0, 1, 17)],
        shapes=[["n", 3]],
    ),
]
