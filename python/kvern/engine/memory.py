# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much memory a run takes, known before the first one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvern import _runtime
from kvern.dtype import DType
from kvern.errors import InputError, InputTypeError

__all__ = ["MemoryPlan", "plan_memory"]


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes of memory, for one run with given sizes.

    Attributes:
        symbols: The sizes.
        weights: Weights as the kernels read them, packed or not; shared by all runs.
        workspace: The arena of intermediate values; kept between runs.
        inputs: The inputs, owned by the caller.
        outputs: The outputs, new in each run.
        is_complete: False when the program allocates more for sizes that it computes; that memory is not counted, nor
            are outputs of such sizes.
    """

    symbols: Mapping[str, int]
    weights: int
    workspace: int
    inputs: int
    outputs: int
    is_complete: bool = True

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.workspace + self.inputs + self.outputs

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.symbols.items())
        lines = [f"memory of a run{' with ' if sizes else ''}{sizes}:"]
        for name in ("weights", "workspace", "inputs", "outputs", "total"):
            lines.append(f"  {name:9} {format_bytes(getattr(self, name)):>12}")
        if not self.is_complete:
            lines.append("  and what the sizes that the run computes need")
        return "\n".join(lines)


def format_bytes(size: float) -> str:
    """Returns "1.50 MiB"."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"


def plan_memory(
    core: _runtime.Model, program: dict[str, Any], sizes: Mapping[str, int]
) -> MemoryPlan:
    """Returns the plan of a program of a manifest; see `Model.memory_plan`."""
    names = program["symbols"][: program["num_input_symbols"]]
    symbols = _values(program["name"], names, sizes)
    # Those that a run computes have no value.
    padded = symbols + [-1] * (len(program["symbols"]) - len(names))
    totals: dict[str, int] = {}
    is_complete = len(padded) == len(symbols)
    for kind in ("inputs", "outputs"):
        totals[kind] = 0
        for tensor in program[kind]:
            size = _bytes_of(tensor, padded)
            if size is None:
                is_complete = False
            else:
                totals[kind] += size
    return MemoryPlan(
        dict(zip(names, symbols, strict=True)),
        core.weight_bytes,
        core.workspace_bytes(symbols),
        totals["inputs"],
        totals["outputs"],
        is_complete,
    )


def _bytes_of(tensor: dict[str, Any], symbols: list[int]) -> int | None:
    sizes = [_runtime.evaluate_dim(dim, symbols) for dim in tensor["dims"]]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return math.prod(known) * DType(tensor["dtype"]).size_in_bytes


def _values(program: str, names: list[str], sizes: Mapping[str, int]) -> list[int]:
    unknown = [name for name in sizes if name not in names]
    missing = [name for name in names if name not in sizes]
    if unknown or missing:
        raise InputTypeError(
            f"expected a size for each of {names} of model '{program}', but got "
            + (f"unknown names {unknown}" if unknown else f"none for {missing}")
        )
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**48:
            raise InputError(
                f"expected '{name}' to be an int from 0 to below 2^48, but got {value!r}"
            )
    return [sizes[name] for name in names]
