# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of llama.cpp, by way of the ggml functions that the xllamacpp package exports."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable
from ctypes import c_bool, c_float, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np
from cases import Case
from llama_cpp import open_library

from frameworks.base import Contender, Unsupported

# enum ggml_type
TYPES = {"float32": 0, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "bfloat16": 30}


class InitParams(ctypes.Structure):
    """struct ggml_init_params"""

    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


FUNCTIONS = [
    ("ggml_init", c_void_p, [InitParams]),
    ("ggml_new_tensor_2d", c_void_p, [c_void_p, c_int, c_int64, c_int64]),
    ("ggml_new_tensor_3d", c_void_p, [c_void_p, c_int, c_int64, c_int64, c_int64]),
    ("ggml_flash_attn_ext", c_void_p, [c_void_p] * 5 + [c_float] * 3),
    ("ggml_mul_mat", c_void_p, [c_void_p, c_void_p, c_void_p]),
    ("ggml_nbytes", c_size_t, [c_void_p]),
    ("ggml_new_graph", c_void_p, [c_void_p]),
    ("ggml_build_forward_expand", None, [c_void_p, c_void_p]),
    ("ggml_backend_cpu_init", c_void_p, []),
    ("ggml_backend_cpu_set_n_threads", None, [c_void_p, c_int]),
    ("ggml_backend_graph_compute", c_int, [c_void_p, c_void_p]),
    ("ggml_backend_alloc_ctx_tensors", c_void_p, [c_void_p, c_void_p]),
    ("ggml_backend_tensor_set", None, [c_void_p, c_void_p, c_size_t, c_size_t]),
    ("ggml_backend_tensor_get", None, [c_void_p, c_void_p, c_size_t, c_size_t]),
]


class Ggml(Contender):
    name = "llama.cpp"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._ggml = open_library(FUNCTIONS)
        self._backend = self._ggml.ggml_backend_cpu_init()
        self._ggml.ggml_backend_cpu_set_n_threads(self._backend, threads)

    @property
    def version(self) -> str:
        return importlib.metadata.version("xllamacpp")

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        context = self._ggml.ggml_init(InitParams(1 << 20, None, True))
        if case.family in ("gemm", "gemv", "skinny", "quantized"):
            tensors, result = self._product(context, case, inputs["x"], weights["w"])
        elif case.family == "attention" and inputs["q"].shape[1] == 1:
            tensors, result = self._decode(context, inputs)
        else:
            raise Unsupported("measured for matrix products and for attention of one query")
        graph = self._ggml.ggml_new_graph(context)
        self._ggml.ggml_build_forward_expand(graph, result)
        self._ggml.ggml_backend_alloc_ctx_tensors(context, self._backend)
        for tensor, value in tensors:
            self._set(tensor, value)
        memory = np.empty(self._ggml.ggml_nbytes(result) // 4, np.float32)

        def run() -> tuple[Any, np.ndarray]:
            if self._ggml.ggml_backend_graph_compute(self._backend, graph) != 0:
                raise RuntimeError("ggml failed")
            return result, memory

        return run

    def _product(
        self, context: Any, case: Case, x: np.ndarray, weight: np.ndarray
    ) -> tuple[list[tuple[Any, np.ndarray]], Any]:
        new, kind = self._ggml.ggml_new_tensor_2d, case.encoding or case.dtype
        (m, k), n = x.shape, len(weight)
        w_tensor = new(context, TYPES[kind], k, n)
        # Activations are float32 whatever the weights are.
        x_tensor = new(context, TYPES["float32"], k, m)
        tensors = [(w_tensor, _encode(weight, kind)), (x_tensor, x.astype(np.float32))]
        return tensors, self._ggml.ggml_mul_mat(context, w_tensor, x_tensor)

    def _decode(
        self, context: Any, inputs: dict[str, np.ndarray]
    ) -> tuple[list[tuple[Any, np.ndarray]], Any]:
        tensors = []
        for name in ("q", "k", "v"):
            # [1, seq, heads, d] as ggml has it: heads outside of positions.
            value = inputs[name][0].transpose(1, 0, 2)
            heads, rows, d = value.shape
            tensor = self._ggml.ggml_new_tensor_3d(context, TYPES["float32"], d, rows, heads)
            tensors.append((tensor, value))
        q, k, v = (tensor for tensor, _ in tensors)
        scale = inputs["q"].shape[-1] ** -0.5
        return tensors, self._ggml.ggml_flash_attn_ext(context, q, k, v, None, scale, 0.0, 0.0)

    def _set(self, tensor: Any, value: np.ndarray) -> None:
        value = np.ascontiguousarray(value)
        if value.nbytes != self._ggml.ggml_nbytes(tensor):
            raise Unsupported(
                f"ggml expects {self._ggml.ggml_nbytes(tensor)} bytes, not {value.nbytes}"
            )
        self._ggml.ggml_backend_tensor_set(tensor, value.ctypes.data, 0, value.nbytes)

    def to_numpy(self, result: Any) -> np.ndarray:
        tensor, memory = result
        self._ggml.ggml_backend_tensor_get(tensor, memory.ctypes.data, 0, memory.nbytes)
        return memory


def _encode(weight: np.ndarray, kind: str) -> np.ndarray:
    if kind in ("float32", "bfloat16"):
        return weight
    from gguf import GGMLQuantizationType, quants

    return quants.quantize(weight, GGMLQuantizationType[kind])
