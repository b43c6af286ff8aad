# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages, compiles and runs one graph: what an installed kvern must be able to do with NumPy alone.

python test/smoke.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import kvern
import numpy as np
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, TensorType, ops
from kvern.graph.stages import stage, stage_names
from kvern.nn import Linear, Module
from kvern.tools import find_tool


class Layer(Module):
    def __init__(self):
        super().__init__()
        self.linear = Linear(64, 32, DType.float32, DeviceRef.CPU(), has_bias=True)

    def __call__(self, x):
        return ops.softmax(ops.relu(self.linear(x)))


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"kvern {kvern.__version__}: expected {what}")


def main() -> None:
    random = np.random.default_rng(0)
    weights = {
        "linear.weight": random.standard_normal((32, 64)).astype(np.float32),
        "linear.bias": random.standard_normal(32).astype(np.float32),
    }
    layer = Layer()
    layer.load_state_dict(weights)
    graph = layer.trace(TensorType(DType.float32, ["batch", 64], DeviceRef.CPU()), name="layer")

    for name in stage_names():
        expect(stage(graph, name) != "", f"text for stage {name}")
    ir = stage(graph, "graph")
    tool = subprocess.run(
        [find_tool("kvern-opt"), "--kvern-stage=optimized"],
        input=ir,
        capture_output=True,
        text=True,
    )
    expect(tool.returncode == 0, f"kvern-opt to work, but got {tool.stderr}")
    expect(tool.stdout.strip() == stage(graph, "optimized").strip(), "one text from both")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.kvernexe"
        InferenceSession().compile(graph).save(path)
        model = InferenceSession().load(path, weights_registry=weights)
    for batch in (1, 5, 0):
        x = random.standard_normal((batch, 64)).astype(np.float32)
        got = model.execute(x)[0].to_numpy()
        y = np.maximum(x @ weights["linear.weight"].T + weights["linear.bias"], 0)
        e = np.exp(y - y.max(axis=1, keepdims=True))
        expect(np.allclose(got, e / e.sum(axis=1, keepdims=True), atol=1e-5), "equal numbers")
    print(f"kvern {kvern.__version__}: staged, compiled and ran a layer")


if __name__ == "__main__":
    main()
