# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a contender offers, and the operations that cases are written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from cases import Case


class Unsupported(Exception):
    """A contender cannot run a case; the text says why."""


class Contender(ABC):
    """One library. `prepare` does all that is done once; what it returns is timed."""

    name: ClassVar[str]

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @property
    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        """A call that runs the case on these inputs and returns its result.

        Raises:
            Unsupported: the library has no way to run it.
        """

    @abstractmethod
    def to_numpy(self, result: Any) -> np.ndarray:
        """The result of a run as float32 or wider."""


class Operations:
    """The vocabulary of the cases; axes as in the docstrings, all else as in NumPy.

    A subclass that lacks an operation leaves it, and the case is reported as unsupported.
    """

    def linear(self, x: Any, weight: Any) -> Any:
        """`x [..., k]` by `weight [n, k]`, transposed."""
        raise Unsupported("no linear")

    def matmul(self, a: Any, b: Any) -> Any:
        raise Unsupported("no matmul")

    def quantized_linear(self, x: Any, blocks: Any, encoding: str) -> Any:
        """`x [m, k]` by `[n, k]` stored as GGUF blocks, `[n, bytes]`."""
        raise Unsupported("no GGUF weights")

    def softmax(self, x: Any) -> Any:
        raise Unsupported("no softmax")

    def rms_norm(self, x: Any, weight: Any, epsilon: float) -> Any:
        raise Unsupported("no rms_norm")

    def layer_norm(self, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        raise Unsupported("no layer_norm")

    def gelu(self, x: Any) -> Any:
        """The exact form, by erf."""
        raise Unsupported("no gelu")

    def silu(self, x: Any) -> Any:
        raise Unsupported("no silu")

    def rope(self, x: Any, cos: Any, sin: Any) -> Any:
        """`x [batch, seq, heads, d]`, halves rotated by the angles of `cos`, `sin [seq, d / 2]`."""
        raise Unsupported("no rope")

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        """`q [batch, seq, heads, d]`, `k`, `v [batch, seq_k, kv_heads, d]`; queries are the last positions."""
        raise Unsupported("no attention")

    def conv2d(self, x: Any, filter: Any, padding: int) -> Any:
        """`x [n, h, w, c]`, `filter [r, s, c, f]`, stride 1."""
        raise Unsupported("no conv2d")

    def concat(self, values: list[Any], axis: int) -> Any:
        raise Unsupported("no concat")

    def embedding(self, table: Any, indices: Any) -> Any:
        """Rows of `table`."""
        return table[indices]

    def reshape(self, x: Any, shape: list[int]) -> Any:
        return x.reshape(shape)
