# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs as pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from kvern import nn
from kvern.dtype import DType
from kvern.errors import GraphError
from kvern.graph import DeviceRef, Graph, Module, TensorType, ops
from kvern.graph._layout import lay_out
from kvern.graph.view import summarize, write_html

CPU = DeviceRef.CPU()
VOID = {"meta", "input", "rect", "path"}


class Page(HTMLParser):
    """Collects the nodes of a page and checks that its elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.nodes: list[str] = []
        self.edges = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = dict(attrs).get("class") or ""
        if tag == "g" and "node" in classes:
            self.nodes.append("")
        self.edges += "edge" in classes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.nodes and self.open[-1:] == ["text"]:
            self.nodes[-1] += data + "\n"


@pytest.fixture(scope="module")
def graph() -> Graph:
    layer = nn.Linear(8, 4, DType.float32, CPU, has_bias=True, name="<first>")
    with Graph("layer", input_types=[TensorType(DType.float32, ["batch", 8], CPU)]) as graph:
        x = graph.inputs[0].tensor
        graph.output(ops.relu(layer(x)) + ops.sum(x, axis=-1))
    return graph


@pytest.fixture(scope="module")
def page(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "graph.html"
    write_html(graph, path)
    return path


def test_page_shows_ops_with_weights(page: Path) -> None:
    parsed = Page(page.read_text(encoding="utf-8"))
    titles = [node.split("\n")[0] for node in parsed.nodes]
    assert titles == ["input 0", "matmul", "add", "relu", "sum", "add", "output"]
    assert "permute of <first>.weight: [4, 8], f32" in parsed.nodes[1]
    assert "→ [batch, 4], f32" in parsed.nodes[1]
    assert "<first>.bias: [4], f32" in parsed.nodes[2]
    assert parsed.edges == 7
    assert not [tag for tag in parsed.open if tag != "html"]


def test_details_hold_ir_and_line(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    data = re.search(r"const details = (\[.*?\]);\n", text)
    assert data is not None
    details = json.loads(data[1])
    assert "kvern.relu" in details[3]["text"]
    assert re.fullmatch(r".*test_view\.py:\d+(:\d+)?", details[3]["place"])


def test_browser_runs_page(page: Path) -> None:
    browser = next(filter(None, map(shutil.which, ["chromium", "google-chrome", "chrome"])), None)
    if browser is None:
        pytest.skip("there is no Chromium")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent}/user"]
    command = [browser, *flags, "--dump-dom", f"{page.as_uri()}#1"]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    panel = dom.split('<aside id="details">')[1].split("</aside>")[0]
    assert "<h2>matmul #1</h2>" in panel
    assert "kvern.matmul" in panel


def test_summary_counts(graph: Graph) -> None:
    (table,) = summarize(graph)
    assert table.name == "layer"
    assert table.inputs == ["[batch, 8], f32"]
    assert table.outputs == ["[batch, 4], f32"]
    assert table.ops == {"permute": 1, "matmul": 1, "add": 2, "relu": 1, "sum": 1}
    assert table.weights == {"<first>.weight": "[4, 8], f32", "<first>.bias": "[4], f32"}


def test_text_is_parsed(graph: Graph) -> None:
    assert summarize(Module.parse(str(graph.module))) == summarize(graph)
    with pytest.raises(GraphError, match=r"(?s)broken\.mlir.*expected"):
        Module.parse("func.func @f( {", "broken.mlir")


def test_layers_do_not_overlap() -> None:
    """A long edge has a place of its own in each layer that it passes."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)]
    layout = lay_out([(50, 20)] * 5, edges)
    assert layout.tops[1] == layout.tops[2] > layout.tops[0]
    assert abs(layout.centers[1] - layout.centers[2]) >= 50
    assert len(layout.edges[0, 4]) == 6
    assert all(0 <= x - 25 and x + 25 <= layout.width for x in layout.centers)


def test_empty_layout() -> None:
    assert lay_out([], []).width == 0
