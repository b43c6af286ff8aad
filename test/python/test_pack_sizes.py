# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern.pack` for all sizes around its blocks, from one executable."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from compiling import to_array
from kvern import _runtime
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import CompiledModel, InferenceSession, Model
from kvern.graph._mlir import bindings

# How MLIR calls the element type, and the columns of a panel.
DTYPES = {
    DType.float32: ("f32", 16),
    DType.bfloat16: ("bf16", 32),
    DType.float64: ("f64", 8),
    DType.uint8: ("ui8", 64),
    DType.int32: ("i32", 6),
}
DEPTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70]


@functools.cache
def models() -> dict[str, Model]:
    text = ""
    for dtype, (name, panel) in DTYPES.items():
        for transposed, shape in ((", transposed", "n, k"), ("", "k, n")):
            source = f"!kvern.tensor<[{shape}], {name}, cpu:0>"
            packed = (
                f"!kvern.tensor<[(n + {panel - 1}) floordiv {panel}, k, {panel}], {name}, cpu:0>"
            )
            text += (
                f"func.func @{dtype.name}{bool(transposed)}(%x: {source}) -> {packed} {{\n"
                f"  %0 = kvern.pack %x {{panel = {panel} : i64{transposed}}} : ({source}) -> {packed}\n"
                f"  return %0 : {packed}\n}}\n"
            )
    mlir = bindings()
    module = mlir.ir.Module.parse(text, mlir.context)
    data, _ = mlir.ext.compile(module.operation)
    return InferenceSession().init_all(CompiledModel(_runtime.Executable.from_bytes(data)))


def pack(x: np.ndarray, panel: int) -> np.ndarray:
    """Panels of the columns of x, of sizes [k, n]."""
    depth, columns = x.shape
    count = -(-columns // panel)
    padded = np.zeros((depth, count * panel), x.dtype)
    padded[:, :columns] = x
    return padded.reshape(depth, count, panel).transpose(1, 0, 2)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sizes(dtype: DType, transposed: bool) -> None:
    model = models()[f"{dtype.name}{transposed}"]
    panel = DTYPES[dtype][1]
    random = np.random.default_rng(0)
    for columns in [*range(1, 71), 127, 128, 129, 1000]:
        for depth in DEPTHS:
            x = random.integers(1, 100, (depth, columns)).astype(dtype.to_ml_dtypes())
            given = np.ascontiguousarray(x.T) if transposed else x
            got = to_array(model(Buffer.from_dlpack(given))[0])
            assert np.array_equal(got, pack(x, panel)), (columns, depth)
