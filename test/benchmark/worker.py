# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures all cases at one thread count, in one process, and writes them to a file."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from cases import Case, select
from frameworks import NAMES, Contender, Unsupported, load
from frameworks.numpy_contender import reference
from limits import Limits
from measure import interleave


def make_values(case: Case) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs and weights, seeded; weights are scaled so that products stay near 1."""
    random = np.random.default_rng(0)

    def make(shape: tuple[int, ...], scale: float) -> np.ndarray:
        value = random.standard_normal(shape, np.float32) * np.float32(scale)
        return value.astype(ml_dtypes.bfloat16) if case.dtype == "bfloat16" else value

    inputs = {
        name: random.integers(0, case.indices[name], shape)
        if name in case.indices
        else make(shape, 1.0)
        for name, shape in case.inputs.items()
    }
    weights = {}
    for name, shape in case.weights.items():
        fan_in = int(np.prod(shape[:-1])) if case.family == "conv" else shape[-1]
        weights[name] = make(shape, fan_in**-0.5 if len(shape) > 1 else 1.0)
    return inputs, weights


def measure_all(threads: int, patterns: list[str], peers: str, seconds: float, out: Path) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    limits = Limits(threads)
    contenders = load_contenders(threads, peers)
    results = []
    for case in select(patterns):
        print(f"{threads}T {case.name}", end=" ", flush=True, file=sys.stderr)
        started = time.perf_counter()
        results.append(measure(case, contenders, limits, seconds))
        print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
        contents = {
            "machine": describe_machine(),
            "threads": threads,
            "versions": {c.name: c.version for c in contenders},
            "cases": results,
        }
        (out / f"results-{threads}t.json").write_text(json.dumps(contents, indent=1))


def load_contenders(threads: int, peers: str) -> list[Contender]:
    names = (
        NAMES
        if peers == "all"
        else ["kvern", *(n for n in peers.split(",") if n not in ("none", "kvern"))]
    )
    contenders = []
    for name in names:
        try:
            contenders.append(load(name, threads))
        except Unsupported as reason:
            print(f"left out: {reason}", file=sys.stderr)
    return contenders


def measure(
    case: Case, contenders: list[Contender], limits: Limits, seconds: float
) -> dict[str, Any]:
    """Checks each contender's result against float64, then times all of them interleaved."""
    inputs, weights = make_values(case)
    expected = reference(case, inputs, weights)
    runs: dict[str, Callable[[], object]] = {}
    errors, reasons = {}, {}
    for contender in contenders:
        try:
            run = contender.prepare(case, inputs, weights)
            result = contender.to_numpy(run()).reshape(expected.shape)
        except Exception as error:
            # Whatever a library raises is an entry of the table, not the end of the run.
            reasons[contender.name] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        errors[contender.name] = float(np.abs(result - expected).max() / np.abs(expected).max())
        if errors[contender.name] <= case.tolerance:
            runs[contender.name] = run
        else:
            reasons[contender.name] = (
                f"wrong by {errors[contender.name]:.1e} of the largest element"
            )
    runs["limit: compute"] = lambda: limits.fma(max(case.flops, 1.0))
    runs["limit: memory"] = lambda: limits.read(case.bytes)
    timings = interleave(runs, seconds)
    return {
        "name": case.name,
        "family": case.family,
        "flops": case.flops,
        "bytes": case.bytes,
        "limit": max(
            timings["limit: compute"].median if case.flops else 0.0, timings["limit: memory"].median
        ),
        "seconds": {name: asdict(timing) for name, timing in timings.items()},
        "errors": errors,
        "missing": reasons,
    }


def describe_machine() -> dict[str, str]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        fields = {key.strip(): value.strip() for key, value in lines.items()}
        family = f"family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
        cpu = f"{fields.get('model name', cpu)} ({family})"
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
