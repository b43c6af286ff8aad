# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables made from C by the system's compiler: what tests the runtime without kvern's compiler."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern import _runtime
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model

PRELUDE = """
#include <stdint.h>
#include <stddef.h>
struct KvernFrame { void *const *inputs; void *const *weights; const int64_t *symbols; void *call; };
extern void *kvern_rt_output(struct KvernFrame *, int64_t, int64_t, const int64_t *);
extern void *kvern_rt_workspace(struct KvernFrame *, int64_t);
extern void *kvern_rt_alloc(struct KvernFrame *, int64_t);
extern void kvern_rt_fail(struct KvernFrame *, int64_t, int64_t, int64_t, int64_t);
extern float expf(float);
extern double exp(double);
"""


@functools.cache
def compile_c(source: str, *flags: str) -> bytes:
    """The object code of a C file; skips the test when there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.c")
        path.write_text(PRELUDE + source)
        target = Path(folder, "code.o")
        flags = flags or ("-O2", "-fPIC")
        subprocess.run([compiler, "-c", *flags, str(path), "-o", str(target)], check=True)
        return target.read_bytes()


def program(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


def executable(source: str, *programs: dict[str, Any], **fields: Any) -> bytes:
    """The bytes of an executable file with the given programs."""
    constants = fields.pop("constants", {})
    manifest = {"programs": list(programs), **fields}
    return _runtime.write_executable(manifest, [compile_c(source)], constants)


F32, I64 = DType.float32.value, DType.int64.value


def tensor(name: str, *dims: Any, dtype: int = F32, kind: str = "tensor") -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "kind": kind, "dims": list(dims)}


def dim(text: str, *terms: tuple[int, int]) -> dict[str, Any]:
    return {"text": text, "terms": list(terms)}


CONST, SYMBOL, ADD, MUL, DIV, MOD = range(6)
N5 = dim("n * 5 + 1", (SYMBOL, 0), (CONST, 5), (MUL, 0), (CONST, 1), (ADD, 0))

# y[n, 3] = x[n, 3] * scale[3] + bias
AFFINE = """
int32_t affine(struct KvernFrame *f) {
  int64_t n = f->symbols[0], dims[2] = {n, 3};
  const float *x = f->inputs[0], *scale = f->weights[0], *bias = f->weights[1];
  float *y = kvern_rt_output(f, 0, 2, dims);
  float *t = kvern_rt_workspace(f, n * 3 * sizeof(float));
  for (int64_t i = 0; i < n * 3; ++i) t[i] = x[i] * scale[i % 3];
  for (int64_t i = 0; i < n * 3; ++i) y[i] = t[i] + bias[0];
  return 0;
}
"""


def affine(**fields: Any) -> bytes:
    entry = program(
        "affine",
        symbols=["n"],
        inputs=[tensor("x", "n", 3)],
        outputs=[tensor("y", "n", 3)],
        weights=[0, 1],
    )
    weights = [
        {"name": "scale", "dtype": F32, "shape": [3]},
        {"name": "bias", "dtype": F32, "shape": [], "align": 4},
    ]
    return executable(AFFINE, entry, weights=weights, **fields)


SCALE = np.array([1, 2, 3], np.float32)
WEIGHTS = {"scale": SCALE, "bias": np.float32(10) * np.ones((), np.float32)}


def load(data: bytes, **weights: Any) -> Model:
    return InferenceSession().load(data, weights_registry=weights or None)


def load_affine() -> Model:
    return InferenceSession().load(affine(), weights_registry=WEIGHTS)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)
