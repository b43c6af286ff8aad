# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importing costs, and what it loads."""

from __future__ import annotations

import json
import subprocess
import sys

import native
import pytest

PROBE = """
import json, re, sys, time
start = time.perf_counter()
{code}
seconds = time.perf_counter() - start
maps = open("/proc/self/maps").read()
libraries = sorted(set(re.findall(r"/[^\\n]*(?:MLIR|LLVM|_mlir)[^\\n]*", maps)))
modules = [m for m in sys.modules if m.startswith("kvern._mlir")]
print(json.dumps({{"seconds": seconds, "libraries": libraries, "modules": modules}}))
"""


def probe(code: str) -> dict:
    run = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_import_is_fast():
    assert min(probe("import kvern")["seconds"] for _ in range(3)) < 0.5
    assert min(probe("import kvern, kvern.engine")["seconds"] for _ in range(3)) < 0.5


@pytest.mark.parametrize(
    "module", ["dtype", "errors", "driver", "engine", "graph", "nn", "pipelines", "cli"]
)
def test_import_loads_no_mlir(module: str):
    found = probe(f"import kvern, kvern.{module}")
    assert found["libraries"] == [] and found["modules"] == []


def test_running_a_file_loads_no_mlir(tmp_path):
    path = tmp_path / "f.kvernexe"
    path.write_bytes(native.executable("int32_t f(void *x) { return 0; }", native.program("f")))
    found = probe(
        f"from kvern.engine import InferenceSession; InferenceSession().load({str(path)!r})()"
    )
    assert found["libraries"] == [] and found["modules"] == []
