# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern inspect`: what is in a checkpoint, a graph or an executable."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from kvern.cli.targets import Kind, kind_of, load_graph
from kvern.errors import InputError

if TYPE_CHECKING:
    from kvern.cli.checkpoints import StoredAs
    from kvern.graph import Graph, Module

__all__ = ["command"]


@dataclass
class _Section:
    """A table, or with `rows` of two columns and no titles, facts."""

    name: str
    titles: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)

    def to_json(self) -> Any:
        if not self.titles:
            return {row[0]: row[1] for row in self.rows}
        return [dict(zip(self.titles, row, strict=True)) for row in self.rows]


@click.command("inspect")
@click.argument("target")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False),
    help="Draw the graph on a page for a browser.",
)
@click.option("--open", "is_opened", is_flag=True, help="Show the page in a browser.")
@click.option("--all", "is_complete", is_flag=True, help="All rows of long tables.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def command(
    target: str, page: str | None, is_opened: bool, is_complete: bool, is_json: bool
) -> None:
    """Show what TARGET holds.

    TARGET is a checkpoint (a folder, .gguf or .safetensors), a graph (.mlir, or FILE.py:NAME) or an executable.
    """
    kind = kind_of(target)
    if kind is Kind.EXECUTABLE and (page or is_opened):
        raise InputError(
            "expected a checkpoint or a graph for --html: an executable holds no graph"
        )
    if is_opened and page is None:
        page = f"{Path(target.rpartition(':')[2]).stem}.html"
    sections, graph = {
        Kind.CHECKPOINT: _checkpoint,
        Kind.GRAPH: _graph,
        Kind.EXECUTABLE: _executable,
    }[kind](target)
    if page is not None and graph is not None:
        from kvern.graph.view import write_html

        write_html(graph(), page, title=target)
    if is_json:
        click.echo(json.dumps({section.name: section.to_json() for section in sections}, indent=2))
    else:
        _print(sections, None if is_complete else 40)
    if page is not None:
        click.echo(f"the graph is drawn in {page}", err=True)
    if is_opened:
        click.launch(str(page))


# What there is to show, and what makes the graph to draw, if there is one.
_Shown: TypeAlias = "tuple[list[_Section], Callable[[], Graph | Module] | None]"


def _checkpoint(target: str) -> _Shown:
    from kvern.cli.checkpoints import facts_of, graph_of, safetensors_of, tensors_of
    from kvern.models import open_checkpoint

    if target.endswith(".safetensors"):
        facts, tensors = {"file": target, "bytes": os.path.getsize(target)}, safetensors_of(target)
        # Which refuses a file without a configuration.
        return _stored(facts, tensors), lambda: graph_of(open_checkpoint(target).config)
    checkpoint = open_checkpoint(target)
    sections = _stored(facts_of(checkpoint), tensors_of(checkpoint))
    return sections, lambda: graph_of(checkpoint.config)


def _stored(facts: Mapping[str, Any], tensors: Sequence[StoredAs]) -> list[_Section]:
    kinds: dict[str, tuple[int, int, int]] = {}
    for tensor in tensors:
        count, elements, size = kinds.get(tensor.kind, (0, 0, 0))
        kinds[tensor.kind] = (count + 1, elements + tensor.elements, size + tensor.bytes)
    return [
        _Section("checkpoint", (), [(name, _plain(value)) for name, value in facts.items()]),
        _Section(
            "stored as",
            ("type", "tensors", "elements", "bytes"),
            [(k, *v) for k, v in kinds.items()],
        ),
        _Section(
            "tensors",
            ("name", "type", "shape", "bytes"),
            [(t.name, t.kind, _shape(t.shape), t.bytes) for t in tensors],
        ),
    ]


def _graph(target: str) -> _Shown:
    from kvern.graph.view import summarize

    graph = load_graph(target)
    sections = []
    for table in summarize(graph):
        facts: list[Sequence[Any]] = [(f"input {i}", text) for i, text in enumerate(table.inputs)]
        facts += [(f"output {i}", text) for i, text in enumerate(table.outputs)]
        facts.append(("ops", sum(table.ops.values())))
        counts = sorted(table.ops.items(), key=lambda item: -item[1])
        sections += [
            _Section(f"graph {table.name}", (), facts),
            _Section(f"ops of {table.name}", ("op", "times"), list(counts)),
            _Section(f"weights of {table.name}", ("name", "type"), list(table.weights.items())),
        ]
    return sections, lambda: graph


def _executable(target: str) -> _Shown:
    from kvern.engine import InferenceSession

    manifest = InferenceSession().compile(target).manifest
    facts = [
        ("file", target),
        ("bytes", os.path.getsize(target)),
        ("made by", f"kvern {manifest['kvern_version']}"),
        ("target", f"{manifest['triple']}, {manifest['cpu']}"),
        ("needs", " ".join(manifest["cpu_features"])),
    ]
    external = [weight for weight in manifest["weights"] if weight["is_external"]]
    sections = [
        _Section("executable", (), facts),
        _Section(
            "weights",
            ("name", "type", "shape"),
            [(w["name"], _dtype(w["dtype"]), _shape(w["shape"])) for w in external],
        ),
    ]
    for program in manifest["programs"]:
        sections += _program(program)
    return sections, None


def _program(program: Mapping[str, Any]) -> list[_Section]:
    name = program["name"]
    sides = [(side, tensor) for side in ("inputs", "outputs") for tensor in program[side]]
    calls: dict[str, int] = {}
    for step in program["steps"]:
        calls[step["kernel"]] = calls.get(step["kernel"], 0) + 1
    steps = {step["kernel"]: step for step in program["steps"]}
    return [
        _Section(
            f"inputs and outputs of {name}",
            ("name", "kind", "type", "shape"),
            [
                (
                    t["name"],
                    t.get("kind", "output"),
                    _dtype(t["dtype"]),
                    _shape(d["text"] for d in t["dims"]),
                )
                for _, t in sides
            ],
        ),
        _Section(
            f"kernels of {name}",
            ("kernel", "calls", "ops", "flops of a call", "schedule"),
            [
                (
                    kernel,
                    count,
                    " ".join(op.removeprefix("kvern.") for op in steps[kernel]["ops"]),
                    steps[kernel]["flops"]["text"],
                    steps[kernel]["schedule"],
                )
                for kernel, count in calls.items()
            ],
        ),
    ]


def _dtype(number: int) -> str:
    from kvern.dtype import DType

    return DType(number).name


def _shape(sizes: Iterable[Any]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def _print(sections: Sequence[_Section], most_rows: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for section in sections:
        if not section.rows:
            continue
        table = Table(
            title=section.name,
            title_justify="left",
            show_header=bool(section.titles),
            box=None,
            pad_edge=False,
        )
        for i, title in enumerate(section.titles or ("", "")):
            is_number = all(isinstance(row[i], int) for row in section.rows) and bool(
                section.titles
            )
            table.add_column(title, justify="right" if is_number else "left", overflow="fold")
        shown = section.rows[:most_rows]
        for row in shown:
            table.add_row(
                *[
                    f"{cell:,}" if type(cell) is int and section.titles else _text(cell)
                    for cell in row
                ]
            )
        console.print(table)
        if len(shown) < len(section.rows):
            console.print(f"and {len(section.rows) - len(shown)} more (--all shows them)")
        console.print()


def _text(cell: Any) -> str:
    from rich.markup import escape

    return escape(str(cell))
