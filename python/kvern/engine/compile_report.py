# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a compilation went."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["CompileReport", "PartReport"]

_LLVM_PASSES = ("llvm-translate", "llvm-optimize", "llvm-codegen")
_HOST = "host"
_GRAPH = "graph"


@dataclass(frozen=True)
class PartReport:
    """The compilation of one kernel, of the host program ("host"), or of what precedes them ("graph").

    Attributes:
        name: Name of the part.
        source: "compiled", or where its object was found: "memory" of this process or "disk".
        object_bytes: Size of its object file; 0 for "graph".
        passes: Seconds of processor time by pass.
    """

    name: str
    source: Literal["compiled", "memory", "disk"]
    object_bytes: int
    passes: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """Seconds of all passes."""
        return sum(self.passes.values())


@dataclass(frozen=True)
class CompileReport:
    """Seconds by stage (on the clock), part and pass (on the processor). `print(report)` is readable.

    Attributes:
        seconds: From the call of the compiler to the opened executable.
        is_cached: Whether the executable was found in the artifact cache; then nothing was compiled.
        stages: Seconds by stage, in order. Parts are compiled in parallel.
        parts: The kernels, the host program and the graph, those that took longest first.
    """

    seconds: float = 0.0
    is_cached: bool = False
    stages: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[PartReport, ...] = ()

    @property
    def kernels(self) -> tuple[PartReport, ...]:
        """The parts that are kernels."""
        return tuple(part for part in self.parts if part.name not in (_HOST, _GRAPH))

    @property
    def num_cached_kernels(self) -> int:
        """Kernels that did not have to be compiled."""
        return sum(kernel.source != "compiled" for kernel in self.kernels)

    @property
    def passes(self) -> dict[str, float]:
        """Seconds by pass over all parts, those that took longest first."""
        total: dict[str, float] = {}
        for part in self.parts:
            for name, seconds in part.passes.items():
                total[name] = total.get(name, 0.0) + seconds
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        """The stages, and the parts and passes that took longest."""
        if self.is_cached:
            return f"loaded from the artifact cache in {self.seconds:.3f} s"
        kernels = f"{len(self.kernels)} kernels, {self.num_cached_kernels} of them from the cache"
        lines = [
            f"compiled in {self.seconds:.3f} s: {kernels}",
            "",
            "stage             s",
            *(f"{name:<14}{seconds:>8.3f}" for name, seconds in self.stages.items()),
            "",
            "part                                               s    MLIR    LLVM    bytes  source",
        ]
        shown = self.parts[:20]
        for part in shown:
            llvm = sum(part.passes.get(name, 0.0) for name in _LLVM_PASSES)
            lines.append(
                f"{part.name[:44]:<44}{part.seconds:>8.3f}{part.seconds - llvm:>8.3f}{llvm:>8.3f}"
                f"{part.object_bytes:>9}  {part.source}"
            )
        if len(self.parts) > len(shown):
            lines.append(f"... and {len(self.parts) - len(shown)} more")
        lines += ["", "pass                                               s"]
        lines += [f"{name:<44}{seconds:>8.3f}" for name, seconds in list(self.passes.items())[:20]]
        return "\n".join(lines)


class Stopwatch:
    """Makes the report of one call of `InferenceSession.compile`."""

    def __init__(self) -> None:
        """Starts."""
        self._start = time.perf_counter()
        self._times: dict[str, float] = {}
        self._last = self._start
        self._compiler: dict[str, Any] | None = None

    def end(self, stage: str) -> None:
        """Ends a stage, which began where the last one ended."""
        now = time.perf_counter()
        self._times[stage] = now - self._last
        self._last = now

    def take(self, compiler: dict[str, Any]) -> None:
        """Takes the report of the compiler, which has just returned."""
        self._compiler = compiler
        for stage in compiler["stage_names"]:
            self._times[stage] = compiler["stages"][stage]
        self._last = time.perf_counter()

    def report(self) -> CompileReport:
        """Returns the report up to now."""
        parts = [
            PartReport(name, part["source"], part["object_bytes"], part["passes"])
            for name, part in (self._compiler or {"parts": {}})["parts"].items()
        ]
        parts.sort(key=lambda part: (-part.seconds, part.name))
        seconds = time.perf_counter() - self._start
        return CompileReport(seconds, self._compiler is None, self._times, tuple(parts))
