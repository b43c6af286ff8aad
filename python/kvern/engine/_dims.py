# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of a manifest, evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["evaluate"]

_CONST, _SYMBOL = 0, 1
_OPERATIONS: dict[int, Callable[[int, int], int]] = {
    2: operator.add,
    3: operator.mul,
    4: operator.floordiv,
    5: operator.mod,
}


def evaluate(dim: dict[str, Any], symbols: Sequence[int]) -> int | None:
    """Returns the value of a dim; None when it needs a symbol without one (below 0), or divides by 0."""
    stack: list[int] = []
    for op, value in dim["terms"]:
        if op == _CONST:
            stack.append(value)
        elif op == _SYMBOL:
            if symbols[value] < 0:
                return None
            stack.append(symbols[value])
        else:
            right, left = stack.pop(), stack.pop()
            if op in (4, 5) and right == 0:
                return None
            stack.append(_OPERATIONS[op](left, right))
    return stack[0]
