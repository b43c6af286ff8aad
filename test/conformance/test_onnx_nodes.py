# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No ONNX node test that is mapped onto kvern ops fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parent))

from onnx_nodes import Report, listed_names, run_tests

# Parts of the list, so that a failure is soon seen.
PARTS = 12


@pytest.fixture(scope="module")
def total() -> Report:
    return Report()


@pytest.mark.parametrize("part", range(PARTS))
def test_no_mapped_test_fails(part: int, total: Report) -> None:
    names = listed_names()
    step = -(-len(names) // PARTS)
    report = run_tests(names[part * step : (part + 1) * step])
    total.passed += report.passed
    total.failed |= report.failed
    total.not_mapped |= report.not_mapped
    assert not report.failed, "\n".join(f"{name}: {why}" for name, why in report.failed.items())


def test_counts(total: Report, record_property, pytestconfig: pytest.Config) -> None:
    """Prints the counts; what was mapped stays mapped."""
    if not total.passed:
        pytest.skip("needs the tests above")
    record_property("onnx_node_tests", str(total))
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{total}")
    assert len(total.passed) >= 900
