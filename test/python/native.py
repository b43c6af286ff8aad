# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables made from C by the system's compiler: what tests the runtime without kvern's compiler."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from kvern import _runtime

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
