# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a run goes: each kernel against what the machine can do."""

from __future__ import annotations

import functools
import html
import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvern import _runtime

__all__ = ["KernelReport", "Report", "fixed_bytes", "machine_limits", "profile"]


@functools.cache
def machine_limits(threads: int) -> tuple[float, float]:
    """Measures the f32 multiply-add rate and the read bandwidth of `threads` threads, once a process.

    Returns:
        Floating-point operations a second, and bytes a second.
    """
    return _runtime.machine_limits(threads)


@dataclass(frozen=True)
class KernelReport:
    """One kernel call of a run.

    Attributes:
        kernel: Name of the kernel; equal kernels are one.
        ops: The ops in it.
        lines: The user's lines that they come from.
        schedule: How it is carried out: loops, tiles, layouts.
        flops: Floating-point operations, by definition; None when unknown.
        bytes: Bytes of operands and results, each once; None when unknown.
        seconds: Median time.
        limit: The least time that the machine needs for so many operations or bytes; None when unknown.
    """

    kernel: str
    ops: Sequence[str]
    lines: Sequence[str]
    schedule: str
    flops: int | None
    bytes: int | None
    seconds: float
    limit: float | None

    @property
    def share(self) -> float | None:
        """The limit over the time: 1 is as fast as the machine allows.

        Above 1 the data came from a cache.
        """
        return self.limit / self.seconds if self.limit is not None and self.seconds > 0 else None


@dataclass(frozen=True)
class Report:
    """The kernels of a run, with median times.

    Attributes:
        model: Name of the graph.
        sizes: Values of the symbolic sizes.
        threads: Threads of the run.
        kernels: In the order of the run.
        seconds: Median time of a run.
        limits: Operations and bytes a second that the machine can do.
    """

    model: str
    sizes: dict[str, int]
    threads: int
    kernels: Sequence[KernelReport]
    seconds: float
    limits: tuple[float, float]
    _starts: Sequence[Sequence[int]] = field(repr=False, default=())

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        head = f"model '{self.model}'{': ' if sizes else ''}{sizes}; {self.threads} thread(s)"
        limits = f"machine: {self.limits[0] / 1e9:.0f} GFLOP/s, {self.limits[1] / 1e9:.1f} GB/s"
        rows = [_row(kernel, self.seconds) for kernel in self.kernels]
        widths = [max(len(row[i]) for row in [_TITLES, *rows]) for i in range(len(_TITLES))]
        lines = [
            "  ".join(
                text.ljust(width) if i in _LEFT else text.rjust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [_TITLES, *rows]
        ]
        return "\n".join([head, limits, *lines, f"in all {self.seconds * 1e6:.1f} us"])

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page that needs nothing else to be shown."""
        Path(path).write_text(_page(self), encoding="utf-8")

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the runs in Chrome's trace event format, which ui.perfetto.dev opens."""
        Path(path).write_text(json.dumps({"traceEvents": _events(self)}), encoding="utf-8")


def fixed_bytes(program: dict[str, Any]) -> int:
    """Bytes that the kernels of a program of a manifest move however small its inputs are; unknown ones count as 0."""
    symbols = [0] * len(program["symbols"])
    return sum(_known(step["bytes"], symbols) or 0 for step in program["steps"])


def profile(
    core: _runtime.Model,
    program: dict[str, Any],
    inputs: list[_runtime.Buffer],
    runs: int,
) -> Report:
    """Runs a program of a manifest; see `Model.report`."""
    steps = program["steps"]
    starts: list[list[int]] = []
    symbols: list[int] = []
    core.execute(inputs)
    for _ in range(runs):
        _, symbols, times, end = core.execute_timed(inputs)
        starts.append([*times, end])
    limits = machine_limits(core.threads)
    kernels = []
    for i, step in enumerate(steps):
        seconds = statistics.median(run[i + 1] - run[i] for run in starts) * 1e-9
        flops, size = (_known(step[name], symbols) for name in ("flops", "bytes"))
        floors = [(flops, limits[0]), (size, limits[1])]
        known = [amount / rate for amount, rate in floors if amount is not None]
        limit = max(known) if len(known) == len(floors) else None
        kernels.append(
            KernelReport(
                step["kernel"],
                step["ops"],
                step["lines"],
                step["schedule"],
                flops,
                size,
                seconds,
                limit,
            )
        )
    total = statistics.median(run[-1] - run[0] for run in starts) * 1e-9
    sizes = {
        name: value for name, value in zip(program["symbols"], symbols, strict=True) if value >= 0
    }
    return Report(program["name"], sizes, core.threads, kernels, total, limits, starts)


def _known(dim: dict[str, Any], symbols: list[int]) -> int | None:
    value = _runtime.evaluate_dim(dim, symbols)
    return value if value is not None and value >= 0 else None


_TITLES = ("kernel", "time, us", "of run", "GFLOP/s", "GB/s", "of limit", "schedule", "lines")
_LEFT = (0, 6, 7)


def _row(kernel: KernelReport, total: float) -> tuple[str, ...]:
    def rate(amount: int | None) -> str:
        return f"{amount / kernel.seconds / 1e9:.1f}" if amount and kernel.seconds > 0 else "-"

    lines = ", ".join(Path(line).name for line in kernel.lines)
    return (
        kernel.kernel,
        f"{kernel.seconds * 1e6:.1f}",
        f"{kernel.seconds / total:.0%}" if total > 0 else "-",
        rate(kernel.flops),
        rate(kernel.bytes),
        "-" if kernel.share is None else f"{kernel.share:.0%}",
        kernel.schedule,
        lines,
    )


def _events(report: Report) -> list[dict[str, Any]]:
    """Complete events, in microseconds from the first run."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": report.model}}
    ]
    origin = report._starts[0][0] if report._starts else 0
    for number, times in enumerate(report._starts):
        events.append(_event(f"run {number}", times[0], times[-1], origin, {}))
        for i, kernel in enumerate(report.kernels):
            details = {
                "ops": list(kernel.ops),
                "lines": list(kernel.lines),
                "schedule": kernel.schedule,
                "flops": kernel.flops,
                "bytes": kernel.bytes,
            }
            events.append(_event(kernel.kernel, times[i], times[i + 1], origin, details))
    return events


def _event(name: str, start: int, end: int, origin: int, details: dict[str, Any]) -> dict[str, Any]:
    times = {"ts": (start - origin) / 1e3, "dur": (end - start) / 1e3}
    return {"ph": "X", "pid": 1, "tid": 1, "name": name, **times, "args": details}


_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; }
th, td { padding: 0.3em 0.8em; text-align: right; border-bottom: 1px solid #ddd; vertical-align: top; }
th:nth-child(1), td:nth-child(1), th:nth-child(n+7), td:nth-child(n+7) { text-align: left; }
td.bar { background-repeat: no-repeat; background-image: linear-gradient(#9ecae1, #9ecae1); }
small { color: #777; }
"""


def _page(report: Report) -> str:
    text = html.escape
    head, limits = str(report).splitlines()[:2]
    rows = []
    for kernel in report.kernels:
        name, *cells = _row(kernel, report.seconds)
        share = kernel.seconds / report.seconds if report.seconds > 0 else 0
        columns = [f"<td>{text(name)}<br><small>{text(', '.join(kernel.ops))}</small></td>"]
        for i, cell in enumerate(cells):
            bar = f' class="bar" style="background-size: {share:.0%} 100%"' if i == 1 else ""
            columns.append(f"<td{bar}>{text(cell)}</td>")
        rows.append(f"<tr>{''.join(columns)}</tr>")
    titles = "".join(f"<th>{text(title)}</th>" for title in _TITLES)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{text(report.model)}</title>'
        f"<style>{_STYLE}</style><h1>{text(report.model)}</h1><p>{text(head)}<br>{text(limits)}</p>"
        f"<p>A run takes {report.seconds * 1e6:.1f} &micro;s.</p>"
        f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table></html>\n"
    )
