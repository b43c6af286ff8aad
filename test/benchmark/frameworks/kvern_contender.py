# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kvern: one executable with open sizes, weights bound at load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kvern
import numpy as np
from cases import Case
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, TensorType, Weight, ops
from kvern.graph.quantization import QuantizationEncoding

from frameworks.base import Contender, Operations

CPU = DeviceRef.CPU()


class KvernOperations(Operations):
    def linear(self, x: Any, weight: Any) -> Any:
        return x @ weight.T

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def quantized_linear(self, x: Any, blocks: Any, encoding: str) -> Any:
        # As the peers, which all round activations to bytes.
        return ops.qmatmul(QuantizationEncoding[encoding], None, x, blocks, activations="int8")

    def softmax(self, x: Any) -> Any:
        return ops.softmax(x)

    def rms_norm(self, x: Any, weight: Any, epsilon: float) -> Any:
        return ops.rms_norm(x, weight, epsilon)

    def layer_norm(self, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        return ops.layer_norm(x, weight, bias, epsilon)

    def gelu(self, x: Any) -> Any:
        return ops.gelu(x)

    def silu(self, x: Any) -> Any:
        return ops.silu(x)

    def rope(self, x: Any, cos: Any, sin: Any) -> Any:
        rows, half = cos.shape
        table = ops.stack([cos, sin], -1).reshape([rows, 2 * half])
        return ops.rope(x, table, interleaved=False)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return ops.attention(q, k, v, mask_variant="causal" if causal else "null")

    def embedding(self, table: Any, indices: Any) -> Any:
        return ops.gather(table, indices, 0)

    def conv2d(self, x: Any, filter: Any, padding: int) -> Any:
        return ops.conv2d(x, filter, padding=(padding,) * 4)

    def concat(self, values: list[Any], axis: int) -> Any:
        return ops.concat(values, axis)


class Kvern(Contender):
    name = "kvern"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._session = InferenceSession(num_threads=threads)

    @property
    def version(self) -> str:
        return kvern.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        dtype = DType[case.dtype]
        types = [
            TensorType(
                DType.int64 if name in case.indices else dtype,
                case.symbolic.get(name, shape),
                CPU,
            )
            for name, shape in case.inputs.items()
        ]
        if case.encoding:
            from gguf import GGMLQuantizationType, quants

            weights = {"w": quants.quantize(weights["w"], GGMLQuantizationType[case.encoding])}
        with Graph("case", input_types=types) as graph:
            values = {
                name: value.tensor for name, value in zip(case.inputs, graph.inputs, strict=True)
            }
            parameters = {
                name: graph.add_weight(
                    Weight(name, DType.uint8 if case.encoding else dtype, list(value.shape), CPU)
                )
                for name, value in weights.items()
            }
            graph.output(case.forward(KvernOperations(), values, parameters))
        model = self._session.load(graph, weights_registry=weights)
        buffers = [Buffer.from_numpy(value) for value in inputs.values()]
        return lambda: model.execute(*buffers)[0]

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.to_numpy().astype(np.float32)
