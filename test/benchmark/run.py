# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures kvern against other libraries and the machine: `python test/benchmark/run.py --help`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "cases", nargs="*", help="parts of case names; all cases when none is given"
    )
    parser.add_argument(
        "--peers", default="all", help="comma-separated names, or all (default), or none"
    )
    parser.add_argument(
        "--threads", default="1,2", help="comma-separated thread counts, a process each"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time spent measuring one case")
    parser.add_argument(
        "--out", type=Path, default=Path("build/benchmark"), help="folder of the results"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def environment(threads: int) -> dict[str, str]:
    """Each library reads its thread count from a variable of its own, at import."""
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"]
    flags = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    return (
        os.environ
        | {name: str(threads) for name in names}
        | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    )


def main() -> None:
    arguments = parse_arguments()
    if arguments.list:
        from cases import select

        print("\n".join(case.name for case in select(arguments.cases)))
        return
    if arguments.worker:
        from worker import measure_all

        measure_all(
            arguments.worker, arguments.cases, arguments.peers, arguments.seconds, arguments.out
        )
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for threads in arguments.threads.split(","):
        command = [sys.executable, *sys.argv, "--worker", threads]
        subprocess.run(command, env=environment(int(threads)), check=True)

    from report import write_report

    results = [
        json.loads(path.read_text()) for path in sorted(arguments.out.glob("results-*t.json"))
    ]
    print(write_report(results, arguments.out))


if __name__ == "__main__":
    main()
