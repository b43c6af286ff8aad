# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of what caches can be, as the verifier has it, and as docs/kv-cache.md prints it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from kvern.graph._mlir import bindings

WINDOW = 5


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    element: str
    mask: str
    heads: str
    quantized: bool
    evicts: bool
    support: str
    text: str

    @property
    def window(self) -> int:
        return WINDOW if "sliding" in self.mask or "chunked" in self.mask else -1

    def __str__(self) -> str:
        marks = ["quantized"] * self.quantized + ["evicts"] * self.evicts
        return "-".join([self.element, self.heads, self.mask, *marks])


def table() -> list[Line]:
    mlir = bindings()
    return [Line(*line) for line in mlir.ext.list_cache_combinations(mlir.context)]


def error_bound(element: str, x: np.ndarray[Any, Any], group: int) -> np.ndarray[Any, Any]:
    """What the table says of the difference between elements given and stored; one rounding of float32 is added."""
    size = np.abs(x.astype(np.float64))
    groups = size.reshape(*size.shape[:-1], x.shape[-1] // group, group).max(-1)
    largest = np.repeat(groups, group, -1)
    bounds = {
        "f32": 0 * size,
        "bf16": size * 2**-8,
        "f16": np.maximum(size * 2**-11, 2**-25),
        "i8": largest / 254 * (1 + 2**-20),
        "f8E4M3FN": np.maximum(size / 16, largest / 458752) * (1 + 2**-20),
    }
    return bounds[element]


def markdown() -> str:
    """The table of the page: lines that agree are one."""
    lines = table()
    rows = ["| element type | scales | heads | masks | |", "|---|---|---|---|---|"]
    rows += _merge(
        ((x.element, "yes" if x.quantized else "no"), x.heads, x) for x in lines if not x.evicts
    )
    rows += ["", "| pages left of the window are evicted, with | |", "|---|---|"]
    served = {x.element for x in lines if x.support == "exact"}
    by_mask = {x.mask: x for x in lines if x.evicts and x.element in served and not x.quantized}
    for x in by_mask.values():
        rows.append(f"| `{x.mask}` | {_verdict(x)} |")
    return "\n".join(rows)


def _verdict(line: Line) -> str:
    return f"{line.support}: {line.text}" if line.text else line.support


def _merge(keyed: Iterable[tuple[tuple[str, str], str, Line]]) -> list[str]:
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    every = list(keyed)
    for (element, scales), heads, line in every:
        masks = found.setdefault((element, scales, _verdict(line)), {})
        masks.setdefault(heads, []).append(line.mask)
    count = len({line.mask for *_, line in every})
    rows = []
    for (element, scales, verdict), heads in found.items():
        same = all(len(masks) == count for masks in heads.values())
        masks = "all" if same else "; ".join(", ".join(m) for m in heads.values())
        rows.append(f"| `{element}` | {scales} | {', '.join(heads)} | {masks} | {verdict} |")
    return rows
