# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every wrong program raises the documented exception, and the message says what, where and why."""

from __future__ import annotations

import inspect

import pytest
from errors import wrong_graphs, wrong_ops, wrong_runs
from errors.program import Program

PROGRAMS = [*wrong_ops.CORPUS, *wrong_graphs.CORPUS, *wrong_runs.CORPUS]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.run.__name__ for p in PROGRAMS])
def test_error(program: Program) -> None:
    with pytest.raises(tuple(program.raises)) as caught:
        program.execute()
    message = str(caught.value)
    for raised in program.raises:
        assert isinstance(caught.value, raised), f"{type(caught.value).__mro__}: {message}"
    for word in program.words:
        assert word in message, f"{word!r} is not in: {message}"
    if program.is_located:
        file = inspect.getsourcefile(program.run)
        lines, first = inspect.getsourcelines(program.run)
        place = message.split(": ")[0]
        allowed = [f"{file}:{first + i}" for i in range(len(lines))]
        assert place in allowed, f"expected a line of {program.run.__name__}, but got: {message}"


def test_size_of_the_corpus() -> None:
    assert len(PROGRAMS) >= 40
