# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of every public op against NumPy; a public op without a case fails."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import pytest
from compiling import compile_graphs
from kvern.graph import ops
from op_cases import FAMILIES
from op_cases.case import Case

# How many graphs share an executable: one that fails costs no more than these.
_BATCH = 40


def _batches(family: ModuleType) -> list[tuple[str, list[Case]]]:
    cases: list[Case] = family.CASES
    name = family.__name__.rpartition(".")[2]
    return [(f"{name}{i}", cases[i : i + _BATCH]) for i in range(0, len(cases), _BATCH)]


BATCHES = dict(batch for family in FAMILIES for batch in _batches(family))
PARAMETERS = [
    pytest.param(batch, case, id=case.id) for batch, cases in BATCHES.items() for case in cases
]


@functools.cache
def models_of(batch: str) -> dict[str, Any]:
    return compile_graphs({case.id: case.build for case in BATCHES[batch]})


@pytest.mark.parametrize(("batch", "case"), PARAMETERS)
def test_numbers(batch: str, case: Case) -> None:
    case.check(models_of(batch)[case.id])


def test_names_are_unique() -> None:
    names = [case.id for cases in BATCHES.values() for case in cases]
    assert len(names) == len(set(names))


def test_every_public_op_has_a_case() -> None:
    tested = {case.op for cases in BATCHES.values() for case in cases}
    assert set(ops.__all__) - tested == set()
