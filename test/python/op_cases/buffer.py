# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on memory that is changed in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from compiling import cpu_buffer, cpu_tensor, run
from kvern.dtype import DType
from kvern.graph import BufferValue, Graph, Module, TensorValue, ops
from tolerances import assert_close

from op_cases.case import ALL, Case, per_dtype, sample

F32 = DType.float32


@dataclass(frozen=True)
class BufferCase(Case):
    """A case whose first input is a buffer. The oracle changes its first array, and returns the outputs."""

    def build(self, name: str, module: Module) -> None:
        first = self.bindings[0]
        shapes = self.shapes or [array.shape for array in first]
        dtypes = [DType.from_numpy(array.dtype) for array in first]
        types: list[Any] = [cpu_buffer(dtypes[0], shapes[0])]
        types += [cpu_tensor(d, s) for d, s in zip(dtypes[1:], shapes[1:], strict=True)]
        with Graph(name, input_types=types, module=module) as graph:
            buffer, *tensors = graph.inputs
            graph.output(*self.fn(buffer.buffer, *(value.tensor for value in tensors)))

    def check(self, model: Any) -> None:
        for arrays in self.bindings:
            memory, expected_memory = arrays[0].copy(), arrays[0].copy()
            got = run(model, [memory, *arrays[1:]])
            expected = self.oracle(expected_memory, *arrays[1:])
            assert_close(memory, expected_memory)
            assert len(got) == len(expected)
            for one, other in zip(got, expected, strict=True):
                assert_close(one, np.asarray(other))


def _accumulate(buffer: BufferValue, x: TensorValue) -> list[TensorValue]:
    """Loads before and after a store: the first is a snapshot."""
    before = ops.buffer_load(buffer)
    ops.buffer_store(buffer, before + x)
    return [before, ops.buffer_load(buffer)]


def _accumulate_oracle(memory: Any, x: Any) -> list[Any]:
    before = memory.copy()
    memory += x
    return [before, memory.copy()]


def _store(dtype: DType) -> BufferCase:
    def oracle(memory: Any, x: Any) -> list[Any]:
        memory[...] = x
        return []

    def fn(buffer: BufferValue, x: TensorValue) -> list[TensorValue]:
        ops.buffer_store(buffer, x)
        return []

    arrays = [(sample(dtype, [n, 3]), sample(dtype, [n, 3], seed=1)) for n in (0, 1, 17)]
    return BufferCase("buffer_store", "", fn, oracle, arrays, shapes=[["n", 3], ["n", 3]])


def _store_slice(dtype: DType) -> BufferCase:
    def fn(buffer: BufferValue, x: TensorValue) -> list[TensorValue]:
        ops.buffer_store_slice(buffer, x, (slice(1, 4), slice(None, None, 2)))
        return [ops.buffer_load(buffer)]

    def oracle(memory: Any, x: Any) -> list[Any]:
        memory[1:4, ::2] = x
        return [memory.copy()]

    return BufferCase(
        "buffer_store_slice",
        "",
        fn,
        oracle,
        [(sample(dtype, [6, 5]), sample(dtype, [3, 3], seed=1))],
    )


def _row(buffer: BufferValue, x: TensorValue, i: TensorValue) -> list[TensorValue]:
    buffer[i] = x
    return [buffer[...]]


def _row_oracle(memory: Any, x: Any, i: Any) -> list[Any]:
    memory[int(i)] = x
    return [memory.copy()]


def _head(buffer: BufferValue, x: TensorValue) -> list[TensorValue]:
    buffer[:2] = x
    buffer[-1] = x[0]
    return [buffer[0]]


def _head_oracle(memory: Any, x: Any) -> list[Any]:
    memory[:2] = x
    memory[-1] = x[0]
    return [memory[0].copy()]


CASES = [
    BufferCase(
        "buffer_load",
        "",
        _accumulate,
        _accumulate_oracle,
        [(sample(F32, [n, 3]), sample(F32, [n, 3], seed=1)) for n in (0, 1, 17)],
        shapes=[["n", 3], ["n", 3]],
    ),
    *per_dtype(ALL, _store),
    *per_dtype(ALL, _store_slice),
    BufferCase(
        "buffer_store_slice",
        "run-time-row",
        _row,
        _row_oracle,
        [(sample(F32, [5, 3]), sample(F32, [3]), np.array(i)) for i in (0, 4, 2)],
        shapes=[["n", 3], [3], []],
    ),
    BufferCase(
        "buffer_store_slice",
        "named-axis",
        _head,
        _head_oracle,
        [(sample(F32, [n, 3]), sample(F32, [2, 3])) for n in (2, 5)],
        shapes=[["n", 3], [2, 3]],
    ),
]
