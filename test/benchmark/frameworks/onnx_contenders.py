# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX Runtime and OpenVINO, on models exported by PyTorch."""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case

from frameworks.base import Contender, Unsupported


def export(
    case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray], folder: str
) -> Path:
    """The case as an ONNX file in `folder`.

    Raises:
        Unsupported: it has quantized weights or other types than float32.
    """
    import torch

    from frameworks.torch_contender import CaseModule, to_torch

    if case.encoding or case.dtype != "float32":
        raise Unsupported("measured for float32 only")
    path = Path(folder) / "case.onnx"
    arguments = tuple(to_torch(value, case.dtype) for value in inputs.values())
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        torch.inference_mode(),
    ):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            CaseModule(case, weights),
            arguments,
            str(path),
            input_names=list(inputs),
            opset_version=20,
            dynamo=True,
        )
    return path


class OnnxRuntime(Contender):
    name = "onnxruntime"

    @property
    def version(self) -> str:
        import onnxruntime

        return onnxruntime.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        with tempfile.TemporaryDirectory() as folder:
            path = export(case, inputs, weights, folder)
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        # Bound once: only the run is timed.
        binding = session.io_binding()
        for name, value in inputs.items():
            binding.bind_cpu_input(name, value)
        output = session.get_outputs()[0].name

        def run() -> np.ndarray:
            binding.bind_output(output)
            session.run_with_iobinding(binding)
            return binding.get_outputs()[0]

        return run

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.numpy()


class OpenVino(Contender):
    name = "openvino"

    @property
    def version(self) -> str:
        import openvino

        return openvino.__version__

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        import openvino

        settings = {
            "INFERENCE_NUM_THREADS": self.threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = export(case, inputs, weights, folder)
            request = (
                openvino.Core().compile_model(str(path), "CPU", settings).create_infer_request()
            )
        tensors = [openvino.Tensor(value, shared_memory=True) for value in inputs.values()]
        request.set_input_tensors(tensors) if len(tensors) == 1 else [
            request.set_input_tensor(i, tensor) for i, tensor in enumerate(tensors)
        ]

        def run() -> Any:
            request.infer()
            return request.get_output_tensor(0)

        return run

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.data
