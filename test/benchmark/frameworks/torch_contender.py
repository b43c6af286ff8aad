# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch, eager and through torch.compile; dynamic int8 stands for GGUF's int8 weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from cases import Case

from frameworks.base import Contender, Operations, Unsupported


class TorchOperations(Operations):
    def linear(self, x: Any, weight: Any) -> Any:
        return F.linear(x, weight)

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def softmax(self, x: Any) -> Any:
        return torch.softmax(x, -1)

    def rms_norm(self, x: Any, weight: Any, epsilon: float) -> Any:
        return F.rms_norm(x, (x.shape[-1],), weight, epsilon)

    def layer_norm(self, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        return F.layer_norm(x, (x.shape[-1],), weight, bias, epsilon)

    def gelu(self, x: Any) -> Any:
        return F.gelu(x)

    def silu(self, x: Any) -> Any:
        return F.silu(x)

    def rope(self, x: Any, cos: Any, sin: Any) -> Any:
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = cos[:, None, :], sin[:, None, :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        # A single query is the last position: it sees every key.
        square = causal and q.shape[2] > 1
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=square, enable_gqa=q.shape[1] != k.shape[1]
        ).transpose(1, 2)

    def conv2d(self, x: Any, filter: Any, padding: int) -> Any:
        # Views: channels last in memory.
        return F.conv2d(x.permute(0, 3, 1, 2), filter, padding=padding).permute(0, 2, 3, 1)

    def concat(self, values: list[Any], axis: int) -> Any:
        return torch.cat(values, axis)


def to_torch(value: np.ndarray, dtype: str) -> torch.Tensor:
    value = np.ascontiguousarray(value)
    if value.dtype == np.int64:
        return torch.from_numpy(value)
    if dtype == "bfloat16":
        # A type that PyTorch does not know from NumPy: by its bits.
        return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(value).to(getattr(torch, dtype))


class CaseModule(torch.nn.Module):
    """A case as a module: its inputs are arguments, its weights parameters."""

    def __init__(self, case: Case, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.case = case
        self.params = torch.nn.ParameterDict()
        for name, value in weights.items():
            tensor = to_torch(value, case.dtype)
            if case.family == "conv":
                tensor = tensor.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            self.params[name] = torch.nn.Parameter(tensor, requires_grad=False)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.case.forward(
            TorchOperations(),
            dict(zip(self.case.inputs, inputs, strict=True)),
            dict(self.params.items()),
        )


class Torch(Contender):
    name = "torch"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)

    @property
    def version(self) -> str:
        return torch.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        tensors = [to_torch(value, case.dtype) for value in inputs.values()]
        if case.encoding:
            module = self._quantized(case, weights)
        else:
            module = self._module(CaseModule(case, weights))

        def run() -> torch.Tensor:
            with torch.inference_mode():
                return module(*tensors)

        return run

    def _module(self, module: torch.nn.Module) -> Callable[..., torch.Tensor]:
        return module

    def _quantized(self, case: Case, weights: dict[str, np.ndarray]) -> Callable[..., torch.Tensor]:
        if case.encoding != "Q8_0":
            raise Unsupported("no int4 weights on the CPU")
        linear = torch.nn.Linear(*reversed(weights["w"].shape), bias=False)
        linear.weight.data = to_torch(weights["w"], "float32")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.ao.quantization.quantize_dynamic(
                torch.nn.Sequential(linear), {torch.nn.Linear}
            )

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.float().numpy()


class TorchCompiled(Torch):
    name = "torch-compile"

    def _module(self, module: torch.nn.Module) -> Callable[..., torch.Tensor]:
        # A case is not to be compiled as a variant of those before.
        torch.compiler.reset()
        return torch.compile(module)

    def _quantized(self, case: Case, weights: dict[str, np.ndarray]) -> Callable[..., torch.Tensor]:
        raise Unsupported("measured eagerly")
