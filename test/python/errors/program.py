# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A wrong program: the error it must raise, and the words that the message must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvern.dtype import DType
from kvern.graph import BufferType, DeviceRef, Graph, TensorType

CPU = DeviceRef.CPU()


@dataclass(frozen=True)
class Program:
    """A function that fails.

    Attributes:
        run: The function; in a graph it gets the inputs.
        raises: The exception types that the error must be an instance of, all of them.
        words: What the message must contain: op, expected, got.
        inputs: Types of the graph in which the function runs; None: it needs no graph.
        is_located: Whether the message begins with the line of the function that is to blame.
    """

    run: Callable[..., Any]
    raises: Sequence[type[Exception]]
    words: Sequence[str]
    inputs: Sequence[Any] | None
    is_located: bool

    def execute(self) -> None:
        if self.inputs is None:
            self.run()
            return
        with Graph("wrong", input_types=self.inputs) as graph:
            self.run(
                *(value.buffer if _is_buffer(value) else value.tensor for value in graph.inputs)
            )


def _is_buffer(value: Any) -> bool:
    return isinstance(value.type, BufferType)


class Corpus(list[Program]):
    """Collects programs by its decorators."""

    def staged(
        self, raises: type[Exception] | Sequence[type[Exception]], words: str, *inputs: Any
    ) -> Callable[..., Any]:
        """A function that stages something wrong on graph inputs; `words` are split at `|`."""
        return self._add(raises, words, inputs, True)

    def plain(
        self, raises: type[Exception] | Sequence[type[Exception]], words: str, located: bool = False
    ) -> Callable[..., Any]:
        """A function that does something wrong outside a graph."""
        return self._add(raises, words, None, located)

    def _add(self, raises: Any, words: str, inputs: Any, is_located: bool) -> Callable[..., Any]:
        types = raises if isinstance(raises, (list, tuple)) else [raises]

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Program(function, types, words.split("|"), inputs, is_located))
            return function

        return add


def f32(*shape: Any) -> TensorType:
    return TensorType(DType.float32, shape, CPU)


def i64(*shape: Any) -> TensorType:
    return TensorType(DType.int64, shape, CPU)


def boolean(*shape: Any) -> TensorType:
    return TensorType(DType.bool, shape, CPU)


def tensor(dtype: DType, *shape: Any) -> TensorType:
    return TensorType(dtype, shape, CPU)


def on_gpu(*shape: Any) -> TensorType:
    return TensorType(DType.float32, shape, DeviceRef.GPU())


def buffer(*shape: Any) -> BufferType:
    return BufferType(DType.float32, shape, CPU)
