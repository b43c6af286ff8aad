# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness itself: it runs, checks results, and writes what its README promises."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "clang", "gcc"))), reason="no C compiler")
def test_run_writes_results(tmp_path):
    command = [sys.executable, str(RUN), "rms_norm/128x768", "--threads", "1", "--seconds", "0.2"]
    done = subprocess.run(
        [*command, "--peers", "torch", "--out", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results-1t.json").read_text())
    (case,) = results["cases"]
    assert case["missing"] == {}
    assert case["errors"]["kvern"] < 1e-5
    assert set(case["seconds"]) == {"kvern", "torch", "limit: compute", "limit: memory"}
    assert "rms_norm/128x768" in (tmp_path / "results.md").read_text()


def test_list_names_each_case_once():
    done = subprocess.run([sys.executable, str(RUN), "--list"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert "llama-block/decode" in names
    assert len(names) == len(set(names))
