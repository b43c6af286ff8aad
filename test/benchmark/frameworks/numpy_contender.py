# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy: matrix products by its BLAS; everything else is the float64 reference of every case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case

from frameworks.base import Contender, Operations, Unsupported


class NumPyOperations(Operations):
    def linear(self, x: Any, weight: Any) -> Any:
        return x @ weight.T

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def softmax(self, x: Any) -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def rms_norm(self, x: Any, weight: Any, epsilon: float) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

    def layer_norm(self, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon) * weight + bias
        )

    def gelu(self, x: Any) -> Any:
        import torch

        erf = torch.special.erf(torch.from_numpy(x / np.sqrt(2.0))).numpy()
        return x * 0.5 * (1 + erf)

    def silu(self, x: Any) -> Any:
        return x / (1 + np.exp(-x))

    def rope(self, x: Any, cos: Any, sin: Any) -> Any:
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = cos[:, None, :], sin[:, None, :]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        group = q.shape[2] // k.shape[2]
        k, v = (np.repeat(t, group, axis=2).transpose(0, 2, 1, 3) for t in (k, v))
        q = q.transpose(0, 2, 1, 3)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        if causal:
            seq, keys = scores.shape[-2:]
            scores = np.where(np.tri(seq, keys, keys - seq, dtype=bool), scores, -np.inf)
        return (self.softmax(scores) @ v).transpose(0, 2, 1, 3)

    def conv2d(self, x: Any, filter: Any, padding: int) -> Any:
        r, s = filter.shape[:2]
        _, h, w, _ = x.shape
        padded = np.pad(x, [(0, 0), (padding, padding), (padding, padding), (0, 0)])
        return sum(
            padded[:, i : i + h, j : j + w] @ filter[i, j] for i in range(r) for j in range(s)
        )

    def concat(self, values: list[Any], axis: int) -> Any:
        return np.concatenate(values, axis)


def reference(
    case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
) -> np.ndarray:
    """The result of a case in float64."""

    def widen(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: value if value.dtype == np.int64 else value.astype(np.float64)
            for name, value in values.items()
        }

    if case.encoding:
        from gguf import GGMLQuantizationType, quants

        blocks = quants.quantize(weights["w"], GGMLQuantizationType[case.encoding])
        exact = quants.dequantize(blocks, GGMLQuantizationType[case.encoding])
        return widen(inputs)["x"] @ exact.astype(np.float64).T
    return case.forward(NumPyOperations(), widen(inputs), widen(weights))


class NumPy(Contender):
    """Matrix products only: the rest of NumPy is not meant for speed."""

    name = "numpy"

    @property
    def version(self) -> str:
        return np.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        if case.family not in ("gemm", "gemv", "skinny") or case.dtype != "float32":
            raise Unsupported("measured for f32 matrix products only")
        operations = NumPyOperations()
        return lambda: case.forward(operations, inputs, weights)

    def to_numpy(self, result: Any) -> np.ndarray:
        return result
