# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and a plot of measured results."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write_report(results: list[dict[str, Any]], out: Path) -> str:
    """Writes `results.md` and, with matplotlib, `results.svg` to `out`; returns the text."""
    text = "\n".join(
        _describe(result) + "\n" + _table(result) + _missing(result) for result in results
    )
    (out / "results.md").write_text(text)
    _plot(results, out / "results.svg")
    return text


def _describe(result: dict[str, Any]) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return f"## {result['threads']} thread(s)\n\n{machine}; {versions}\n"


def _contenders(result: dict[str, Any]) -> list[str]:
    return list(result["versions"])


def _share(case: dict[str, Any], name: str) -> float | None:
    """The machine's limit over the time of a contender: 1 is as fast as the machine allows."""
    timing = case["seconds"].get(name)
    return None if timing is None else case["limit"] / timing["median"]


def _table(result: dict[str, Any]) -> str:
    """Per case: kvern's time, its ratio to the best peer, and everyone's share of the limit in percent."""
    names = _contenders(result)
    lines = [
        "| case | kvern, ms | best peer / kvern | " + " | ".join(f"{n}, %" for n in names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    for case in result["cases"]:
        own = case["seconds"].get("kvern")
        peers = {
            n: case["seconds"][n]["median"] for n in names if n != "kvern" and n in case["seconds"]
        }
        ratio = "-"
        if own and peers:
            best = min(peers, key=peers.__getitem__)
            ratio = f"{peers[best] / own['median']:.2f} ({best})"
        shares = [_share(case, name) for name in names]
        cells = ["-" if share is None else f"{100 * share:.0f}" for share in shares]
        time = f"{1e3 * own['median']:.3g}" if own else "-"
        lines.append(f"| {case['name']} | {time} | {ratio} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _missing(result: dict[str, Any]) -> str:
    reasons = [
        f"- {case['name']}, {name}: {reason}"
        for case in result["cases"]
        for name, reason in case["missing"].items()
    ]
    wrong = [line for line in reasons if "Unsupported" not in line]
    return (
        "\nNot measured, apart from what a library does not offer:\n\n" + "\n".join(wrong) + "\n"
        if wrong
        else ""
    )


def _plot(results: list[dict[str, Any]], path: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1,
        len(results),
        figsize=(9 * len(results), 0.24 * len(results[0]["cases"]) + 2),
        squeeze=False,
    )
    for axis, result in zip(axes[0], results, strict=True):
        cases = result["cases"][::-1]
        for name in _contenders(result):
            points = [
                (s, i) for i, case in enumerate(cases) if (s := _share(case, name)) is not None
            ]
            if points:
                x, y = zip(*points, strict=True)
                is_own = name == "kvern"
                axis.plot(
                    [100 * v for v in x],
                    y,
                    "D" if is_own else "o",
                    label=name,
                    ms=7 if is_own else 4,
                    zorder=2 + is_own,
                )
        axis.set_yticks(range(len(cases)), [case["name"] for case in cases], fontsize=7)
        axis.set_xlabel("% of the machine's limit")
        axis.set_title(f"{result['threads']} thread(s)")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
