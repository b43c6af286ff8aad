# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each check of a verifier has an id: in a comment at the check, in the description of the op, and as the
name of a function in a `*-invalid.mlir` test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def ids(paths: Iterable[Path], line: str, name: str) -> dict[str, str]:
    """Returns where each id stands.

    Args:
        paths: The files to read.
        line: A pattern whose first group may hold ids.
        name: The pattern of an id.
    """
    found = {}
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if match := re.search(line, text):
                for id in re.findall(name, match[1]):
                    found.setdefault(id, f"{path.relative_to(ROOT)}:{number}")
    return found


ID = r"[a-z][a-z_]*?_c\d+"
CHECKED = ids((ROOT / "dialect").rglob("*.cpp"), r"^\s*//(.*)$", rf"\b({ID})\b")
STATED = ids((ROOT / "dialect").rglob("*.td"), rf"^\s*- ({ID}):", rf"^({ID})$")
# A second test of an id has a suffix: @slice_c7_stop.
TESTED = ids((ROOT / "test/Dialect").glob("*-invalid.mlir"), r"@(\w+)\(", rf"^({ID})(?:_\w+)?$")


def test_there_are_constraints() -> None:
    assert len(CHECKED) > 50


def test_every_check_is_stated() -> None:
    assert {id: CHECKED[id] for id in CHECKED.keys() - STATED.keys()} == {}
    assert {id: STATED[id] for id in STATED.keys() - CHECKED.keys()} == {}


def test_every_check_is_tested() -> None:
    assert {id: CHECKED[id] for id in CHECKED.keys() - TESTED.keys()} == {}
    assert {id: TESTED[id] for id in TESTED.keys() - CHECKED.keys()} == {}


def test_numbers_have_no_gaps() -> None:
    for id in CHECKED:
        stem, number = id.rsplit("_c", 1)
        assert number == "1" or f"{stem}_c{int(number) - 1}" in CHECKED
