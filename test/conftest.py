# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes each lit test a pytest test: one run of lit serves all that were collected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Nothing compiled earlier stands in for what is tested.
os.environ.setdefault("KVERN_CACHE_DIR", "")
# Generated code that leaves its memory ends the process, and faulthandler names the test.
os.environ.setdefault("KVERN_GUARD_PAGES", "1")

ROOT = Path(__file__).parent
# The folders of test/ that lit.cfg.py leaves out hold no lit tests.
SUITES = ("Dialect", "Conversion", "Transforms", "Codegen", "Pipelines", "Target")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    parts = file_path.relative_to(ROOT).parts if file_path.is_relative_to(ROOT) else ()
    if file_path.suffix == ".mlir" and parts[0] in SUITES and "Inputs" not in parts:
        return LitFile.from_parent(parent, path=file_path)
    return None


class LitFile(pytest.File):
    def collect(self) -> list[LitItem]:
        return [LitItem.from_parent(self, name="lit")]


class LitItem(pytest.Item):
    def runtest(self) -> None:
        result = lit_results(self.session).get(self.path)
        if result is None:
            raise LitFailure("lit did not run this file")
        if result["code"] in ("UNSUPPORTED", "SKIPPED"):
            pytest.skip(result["output"])
        if result["code"] not in ("PASS", "XFAIL"):
            raise LitFailure(f"{result['code']}\n{result['output']}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style=None):
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, str(self.path.relative_to(ROOT))


class LitFailure(Exception):
    pass


RESULTS = pytest.StashKey[dict[Path, dict]]()


def lit_results(session: pytest.Session) -> dict[Path, dict]:
    """What lit said of each collected file, by path."""
    if RESULTS not in session.stash:
        paths = sorted({str(item.path) for item in session.items if isinstance(item, LitItem)})
        session.stash[RESULTS] = run_lit(paths)
    return session.stash[RESULTS]


def run_lit(paths: list[str]) -> dict[Path, dict]:
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "lit.json")
        command = [sys.executable, "-c", "from lit.main import main; main()", "-q"]
        command += ["--output", report, "-D", f"exec_root={folder}", *paths]
        run = subprocess.run(command, capture_output=True, text=True)
        if not os.path.exists(report):
            raise LitFailure(run.stdout + run.stderr)
        tests = json.loads(Path(report).read_text())["tests"]
    # The name is "kvern :: Dialect/ops.mlir".
    return {ROOT / test["name"].split(" :: ", 1)[1]: test for test in tests}
