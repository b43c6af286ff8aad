# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sentence encoder with its real weights against float64 embeddings."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "minilm.py"
# Sentences, their tokens, and embeddings computed in float64 by an independent implementation.
EXPECTED = json.loads(Path(__file__).with_name("minilm.json").read_text())
EMBEDDINGS = np.array(EXPECTED["embeddings"])
TOKENS = [
    np.array(EXPECTED[key], np.int64) for key in ("input_ids", "attention_mask", "token_type_ids")
]


@pytest.fixture(scope="module")
def minilm() -> ModuleType:
    spec = importlib.util.spec_from_file_location("minilm_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if module.missing_packages():
        pytest.skip(f"needs {', '.join(module.missing_packages())}: {module.INSTALL}")
    return module


@pytest.fixture(scope="module")
def model(minilm: ModuleType) -> Any:
    from kvern.engine import InferenceSession

    weights = minilm.load_weights(minilm.model_folder())
    return InferenceSession().load(minilm.build_graph(weights), weights_registry=weights)


def check(got: np.ndarray, expected: np.ndarray) -> None:
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)


def test_tokens(minilm: ModuleType) -> None:
    tokens = minilm.tokenize(minilm.model_folder(), EXPECTED["sentences"])
    for got, expected in zip(tokens, TOKENS, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_batch(minilm: ModuleType, model: Any) -> None:
    check(minilm.embed(model, TOKENS), EMBEDDINGS)


@pytest.mark.parametrize("index", range(len(EMBEDDINGS)))
def test_single_sentence_without_padding(minilm: ModuleType, model: Any, index: int) -> None:
    length = int(TOKENS[1][index].sum())
    tokens = [column[index : index + 1, :length] for column in TOKENS]
    check(minilm.embed(model, tokens), EMBEDDINGS[index : index + 1])


def test_padding_changes_nothing(minilm: ModuleType, model: Any) -> None:
    tokens = [np.pad(column, ((0, 0), (0, 26))) for column in TOKENS]
    check(minilm.embed(model, tokens), EMBEDDINGS)


def test_larger_batch(minilm: ModuleType, model: Any) -> None:
    order = [0, 2, 1, 1, 0, 2, 2]
    tokens = [column[order] for column in TOKENS]
    check(minilm.embed(model, tokens), EMBEDDINGS[order])


def test_empty_batch(minilm: ModuleType, model: Any) -> None:
    assert minilm.embed(model, [column[:0] for column in TOKENS]).shape == (0, 384)


def test_longest_sequence(minilm: ModuleType, model: Any) -> None:
    tokens = [np.pad(column[:1], ((0, 0), (0, 512 - column.shape[1]))) for column in TOKENS]
    check(minilm.embed(model, tokens), EMBEDDINGS[:1])


def test_too_long_a_sequence_is_refused(minilm: ModuleType, model: Any) -> None:
    tokens = [np.zeros((1, 513), np.int64)] * 3
    with pytest.raises(Exception, match="513"):
        minilm.embed(model, tokens)


def test_command_line(minilm: ModuleType) -> None:
    command = [sys.executable, str(EXAMPLE), "A cat sleeps.", "A kitten naps.", "Stocks fell."]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "Which sentences are alike" in run.stdout
    rows = [line for line in run.stdout.splitlines() if "A cat sleeps." in line]
    assert "A kitten naps." in rows[0]


def test_without_the_packages_it_says_how_to_install_them(
    minilm: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(minilm, "NEEDED", (*minilm.NEEDED, "not_there"))
    monkeypatch.setattr(sys, "argv", ["minilm.py"])
    with pytest.raises(SystemExit) as ended:
        minilm.main()
    assert ended.value.code == 1
    assert "not_there" in (told := capsys.readouterr().err) and minilm.INSTALL in told


def test_one_sentence_is_not_enough(
    minilm: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["minilm.py", "Alone."])
    with pytest.raises(SystemExit):
        minilm.main()
    assert "two or more" in capsys.readouterr().err
