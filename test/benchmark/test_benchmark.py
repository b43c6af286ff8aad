# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness itself: it runs, checks results, and writes what its README promises."""

from __future__ import annotations

import importlib.util
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


def test_table_of_text_generation(monkeypatch):
    folder = Path(__file__).parent
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("llm", folder / "llm.py")
    assert spec is not None and spec.loader is not None
    llm = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(llm)
    seconds = {"kvern": {"median": 0.02}, "limit": {"median": 0.015}, "llama.cpp": {"median": 0.03}}
    text = llm.table([{"threads": 1, "name": "f32/decode 8", "tokens": 8, "seconds": seconds}])
    assert text.splitlines()[-1] == "| 1 | f32/decode 8 | 20 | 400 | 75 | 30 | 1.50 | - | - |"
