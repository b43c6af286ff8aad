# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX on the CPU, jitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case

from frameworks.base import Contender, Operations, Unsupported


class JaxOperations(Operations):
    def linear(self, x: Any, weight: Any) -> Any:
        # Stored as [k, n], see `arrange`: XLA runs x @ weight.T much slower.
        return x @ weight

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x, -1)

    def rms_norm(self, x: Any, weight: Any, epsilon: float) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

    def layer_norm(self, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + epsilon) * weight
            + bias
        )

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def silu(self, x: Any) -> Any:
        return jax.nn.silu(x)

    def rope(self, x: Any, cos: Any, sin: Any) -> Any:
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = cos[:, None, :], sin[:, None, :]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        square = causal and q.shape[1] > 1
        return jax.nn.dot_product_attention(q, k, v, is_causal=square)

    def conv2d(self, x: Any, filter: Any, padding: int) -> Any:
        pads = [(padding, padding)] * 2
        return jax.lax.conv_general_dilated(
            x, filter, (1, 1), pads, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def concat(self, values: list[Any], axis: int) -> Any:
        return jnp.concatenate(values, axis)


def arrange(case: Case, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices in the order that XLA multiplies fastest."""
    return {
        name: np.ascontiguousarray(value.T)
        if value.ndim == 2 and case.family != "conv" and name != "words"
        else value
        for name, value in weights.items()
    }


class Jax(Contender):
    """Its thread count follows the CPUs of the process, which the runner sets."""

    name = "jax"

    @property
    def version(self) -> str:
        return jax.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        if case.encoding:
            raise Unsupported("no GGUF weights")
        arrays, parameters = (
            {
                name: jnp.asarray(value, None if value.dtype == np.int64 else case.dtype)
                for name, value in values.items()
            }
            for values in (inputs, arrange(case, weights))
        )
        # Weights are arguments: constants would be folded for minutes.
        compiled = (
            jax.jit(lambda i, w: case.forward(JaxOperations(), i, w))
            .lower(arrays, parameters)
            .compile()
        )
        return lambda: compiled(arrays, parameters).block_until_ready()

    def to_numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result, np.float32)
