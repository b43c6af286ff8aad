# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph as a page that a browser shows."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvern.graph._layout import lay_out
from kvern.graph.graph import Graph
from kvern.graph.module import Module

__all__ = ["GraphTable", "summarize", "write_html"]

# What an op shows of an operand rather than to draw an edge: inputs, weights, and results used far away.
_MOST_LAYERS = 24
_MOST_ARGUMENT_USES = 2
_LINE = 15.0
_CHARACTER = 6.8


@dataclass
class _Node:
    """An op, or an input.

    Attributes:
        title: Its name.
        lines: What is written below it: results, weights, inputs.
        text: The IR.
        place: The line that staged it.
        reads: Numbers of the nodes whose results it reads.
        kind: The class of its style.
    """

    title: str
    lines: list[str]
    text: str
    place: str
    reads: list[int] = field(default_factory=list)
    kind: str = "op"


@dataclass(frozen=True)
class GraphTable:
    """What a function of a module holds.

    Attributes:
        name: Its name.
        inputs: Types of its inputs.
        outputs: Types of its outputs.
        ops: How often each op occurs.
        weights: Type of each weight, by name.
    """

    name: str
    inputs: list[str]
    outputs: list[str]
    ops: dict[str, int]
    weights: dict[str, str]


def summarize(model: Graph | Module) -> list[GraphTable]:
    """Returns what each function of a graph or a module of graphs holds."""
    tables = []
    for function in _functions(model):
        signature = function.attributes["function_type"].value
        ops: dict[str, int] = {}
        weights: dict[str, str] = {}
        for op in _ops(function):
            if op.name == "kvern.weight":
                weights[op.attributes["name"].value] = _short(op.results[0].type)
            elif op.name != "func.return":
                name = op.name.removeprefix("kvern.")
                ops[name] = ops.get(name, 0) + 1
        inputs, outputs = (
            [_short(t) for t in types] for types in (signature.inputs, signature.results)
        )
        tables.append(
            GraphTable(function.attributes["sym_name"].value, inputs, outputs, ops, weights)
        )
    return tables


def write_html(model: Graph | Module, path: str | os.PathLike[str], title: str = "") -> None:
    """Writes a page that draws every function, needs nothing else to be shown, and can be searched.

    An op shows its result, its weights and its constants; a click shows its IR and the line that staged it, and so
    does the address `page.html#12` for the node of that number.

    Args:
        model: A graph, or a module of graphs.
        path: Path of the page.
        title: Its title; the name of the first function by default.
    """
    functions = list(_functions(model))
    names = [function.attributes["sym_name"].value for function in functions]
    details: list[dict[str, str]] = []
    sections = [
        f"<h2>{html.escape(name)}</h2>{_draw(_nodes(function), details)}"
        for name, function in zip(names, functions, strict=True)
    ]
    title = html.escape(title or (names[0] if names else "empty"))
    # "<" must not end the script.
    data = json.dumps(details).replace("<", "\\u003c")
    Path(path).write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<header><h1>{title}</h1><input id="search" type="search" placeholder="find an op, weight or type">'
        f'<span id="found"></span></header><main>{"".join(sections)}</main><aside id="details">'
        f"<p>Click an op to see its IR.</p></aside><script>const details = {data};{_SCRIPT}</script></html>\n",
        encoding="utf-8",
    )


def _functions(model: Graph | Module) -> Iterator[Any]:
    module = model.module if isinstance(model, Graph) else model
    for op in module.mlir_module.body:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            yield op.operation


def _ops(function: Any) -> Iterator[Any]:
    for op in function.regions[0].blocks[0]:
        yield op.operation


def _short(mlir_type: Any) -> str:
    """A type without what is the same everywhere."""
    text = str(mlir_type)
    for start in ("!kvern.tensor<", "!kvern."):
        text = text.removeprefix(start)
    return text.removesuffix(">").replace(", cpu:0", "")


def _place(op: Any) -> str:
    """The line of a location: `file:line`, the last that it names."""
    text = str(op.location)
    parts = text.split('"')
    if len(parts) < 3:
        return ""
    return parts[1] + parts[2].split(")")[0].split(" ")[0]


def _nodes(function: Any) -> list[_Node]:
    """The ops of a function; what weights and constants become by one op is shown by its readers."""
    nodes: list[_Node] = []
    number: dict[Any, int] = {}
    labels: dict[Any, str] = {}
    depth: list[int] = []
    for i, argument in enumerate(function.regions[0].blocks[0].arguments):
        label = f"input {i}: {_short(argument.type)}"
        if len(list(argument.uses)) > _MOST_ARGUMENT_USES:
            labels[argument] = label
        else:
            number[argument] = len(nodes)
            nodes.append(
                _Node(f"input {i}", [_short(argument.type)], str(argument.type), "", kind="input")
            )
            depth.append(0)
    for op in _ops(function):
        if op.name == "kvern.weight":
            labels[op.results[0]] = f"{op.attributes['name'].value}: {_short(op.results[0].type)}"
            continue
        if op.name == "kvern.constant":
            labels[op.results[0]] = f"constant {_short(op.results[0].type)}"
            continue
        if len(op.operands) == len(op.results) == 1 and op.operands[0] in labels:
            name = op.name.removeprefix("kvern.")
            labels[op.results[0]] = f"{name} of {labels[op.operands[0]]}"
            continue
        is_output = op.name == "func.return"
        text = op.get_asm(assume_verified=True, large_elements_limit=16)
        node = _Node(
            "output" if is_output else op.name.removeprefix("kvern."), [], text, _place(op)
        )
        node.kind = "input" if is_output else "op"
        reads = {number[operand]: operand for operand in op.operands if operand in number}
        level = max((depth[i] + 1 for i in reads), default=0)
        for operand in op.operands:
            if operand in labels:
                node.lines.append(labels[operand])
        for i in reads:
            if level - depth[i] > _MOST_LAYERS:
                node.lines.append(f"from {nodes[i].title} #{i}")
            else:
                node.reads.append(i)
        node.lines += [f"→ {_short(result.type)}" for result in op.results]
        for result in op.results:
            number[result] = len(nodes)
        nodes.append(node)
        depth.append(level)
    return nodes


def _draw(nodes: list[_Node], details: list[dict[str, str]]) -> str:
    sizes = []
    for node in nodes:
        node.lines = [line if len(line) <= 48 else line[:47] + "…" for line in node.lines]
        longest = max([len(node.title) + 2, *map(len, node.lines)])
        sizes.append((longest * _CHARACTER + 16, (len(node.lines) + 1) * _LINE + 10))
    layout = lay_out(sizes, [(read, i) for i, node in enumerate(nodes) for read in node.reads])
    parts = []
    for points in layout.edges.values():
        parts.append(f'<path class="edge" d="{_curve(points)}"/>')
    for i, (node, (width, height)) in enumerate(zip(nodes, sizes, strict=True)):
        x, y = layout.centers[i] - width / 2, layout.tops[i]
        lines = "".join(
            f'<text x="8" y="{(n + 2) * _LINE:.0f}">{html.escape(line)}</text>'
            for n, line in enumerate(node.lines)
        )
        parts.append(
            f'<g class="{node.kind} node" data-node="{len(details)}" transform="translate({x:.0f},{y:.0f})">'
            f'<rect width="{width:.0f}" height="{height:.0f}" rx="4"/>'
            f'<text class="title" x="8" y="{_LINE:.0f}">{html.escape(node.title)}</text>{lines}</g>'
        )
        details.append({"title": f"{node.title} #{i}", "text": node.text, "place": node.place})
    size = f'width="{layout.width + 40:.0f}" height="{layout.height + 40:.0f}"'
    return f'<svg {size}><g transform="translate(20,20)">{"".join(parts)}</g></svg>'


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A smooth path downwards through points."""
    (x, y), *rest = points
    path = [f"M{x:.0f},{y:.0f}"]
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        path.append(f"C{x:.0f},{middle:.0f} {next_x:.0f},{middle:.0f} {next_x:.0f},{next_y:.0f}")
        x, y = next_x, next_y
    return "".join(path)


_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 0; color: #222; }
header { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #ddd; padding: 0.5em 1em; display: flex;
  gap: 1em; align-items: center; z-index: 1; }
h1 { font-size: 18px; margin: 0; }
main { margin-right: 32em; padding: 0 1em; overflow-x: auto; }
aside { position: fixed; top: 3.5em; right: 0; bottom: 0; width: 30em; padding: 0 1em; overflow: auto;
  border-left: 1px solid #ddd; background: #fafafa; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; }
svg text { font: 11px ui-monospace, monospace; fill: #555; }
svg text.title { font-weight: bold; fill: #111; }
.node { cursor: pointer; }
.node rect { fill: #eef4fb; stroke: #9ab7d6; }
.input rect { fill: #eef7ee; stroke: #9cc79c; }
.found rect { stroke: #d97706; stroke-width: 3; }
.chosen rect { fill: #fde9c9; }
.edge { fill: none; stroke: #aaa; }
"""

_SCRIPT = """
const panel = document.getElementById("details");
const nodes = [...document.querySelectorAll(".node")];
function show(node) {
  nodes.forEach(other => other.classList.toggle("chosen", other === node));
  const detail = details[node.dataset.node];
  const element = (name, text) => { const e = document.createElement(name); e.textContent = text; return e; };
  panel.replaceChildren(element("h2", detail.title), element("p", detail.place), element("pre", detail.text));
}
nodes.forEach(node => node.addEventListener("click", () => show(node)));
// page.html#12 opens with node 12.
const chosen = nodes[Number(location.hash.slice(1) || NaN)];
if (chosen) { show(chosen); chosen.scrollIntoView({ block: "center", inline: "center" }); }
document.getElementById("search").addEventListener("input", event => {
  const wanted = event.target.value.toLowerCase();
  const textOf = node => (details[node.dataset.node].text + node.textContent).toLowerCase();
  const found = nodes.filter(node => wanted && textOf(node).includes(wanted));
  nodes.forEach(node => node.classList.toggle("found", found.includes(node)));
  document.getElementById("found").textContent = wanted ? `${found.length} found` : "";
  if (found.length) found[0].scrollIntoView({ block: "center", inline: "center" });
});
"""
