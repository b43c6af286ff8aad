# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of the contenders and the modules that hold them."""

from __future__ import annotations

import importlib

from frameworks.base import Contender, Unsupported

# name -> module of this package and class in it
_CLASSES = {
    "kvern": ("kvern_contender", "Kvern"),
    "numpy": ("numpy_contender", "NumPy"),
    "torch": ("torch_contender", "Torch"),
    "torch-compile": ("torch_contender", "TorchCompiled"),
    "onnxruntime": ("onnx_contenders", "OnnxRuntime"),
    "openvino": ("onnx_contenders", "OpenVino"),
    "jax": ("jax_contender", "Jax"),
    "iree": ("iree_contender", "Iree"),
    "llama.cpp": ("ggml_contender", "Ggml"),
}
NAMES = tuple(_CLASSES)


def load(name: str, threads: int) -> Contender:
    """The contender `name`, limited to `threads` threads.

    Raises:
        Unsupported: it is not installed.
    """
    module, cls = _CLASSES[name]
    try:
        return getattr(importlib.import_module(f"frameworks.{module}"), cls)(threads)
    except ImportError as error:
        raise Unsupported(f"{name} is not installed ({error})") from error
