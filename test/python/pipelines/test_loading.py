# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading: its phases, what an interruption leaves, and what is kept for the next time."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvern import models
from kvern.pipelines import SamplingParams, TextGeneration
from pipelines import small_checkpoint

pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")

GREEDY = SamplingParams(max_new_tokens=3, ignore_eos=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_checkpoint.write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def environment(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVERN_CACHE_DIR", str(cache))


def load(folder: Path, interrupted: str | None = None) -> TextGeneration:
    seen: list[str] = []

    def progress(phase: str, done: int, total: int, item: str) -> None:
        seen.append(phase)
        assert 0 <= done <= total or total == 0
        if phase == interrupted and done:
            raise KeyboardInterrupt

    made = TextGeneration(folder, page_size=16, max_batch_size=4, progress=progress)
    assert list(dict.fromkeys(seen)) == ["read", "compile", "pack"] == list(made.loaded.seconds)
    return made


def packed(cache: Path) -> list[Path]:
    return list(cache.rglob("*.kvernpacked"))


def test_ctrl_c_in_a_phase_leaves_nothing(folder: Path, cache: Path):
    for phase in ("compile", "pack"):
        with pytest.raises(KeyboardInterrupt):
            load(folder, phase)
        assert packed(cache) == [] and list(cache.rglob("*.tmp")) == []


def test_the_second_time_nothing_is_built_or_packed(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = load(folder).generate("Hello", GREEDY).tokens
    assert len(packed(cache)) == 1

    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError("expected nothing to be done twice")

    with monkeypatch.context() as patch:
        patch.setattr(models, "build_graph", fail)
        patch.setattr(models.Checkpoint, "state_dict", fail)
        assert load(folder).generate("Hello", GREEDY).tokens == expected
    # What is there instead is written again, and another checkpoint is not taken for this one.
    (file,) = packed(cache)
    whole = file.read_bytes()
    for data in (whole[:-1], b"none of packed weights"):
        # A new file: the old one may be mapped.
        file.unlink()
        file.write_bytes(data)
        assert load(folder).generate("Hello", GREEDY).tokens == expected
        assert file.read_bytes() == whole
    (folder / "model.safetensors").touch()
    assert load(folder).generate("Hello", GREEDY).tokens == expected
    assert len(packed(cache)) == 2


def test_a_file_that_cannot_be_written_is_no_reason_to_fail(folder: Path, cache: Path):
    expected = load(folder).generate("Hello", GREEDY).tokens
    for file in packed(cache):
        file.unlink()
        file.mkdir()
    assert load(folder).generate("Hello", GREEDY).tokens == expected
    assert all(file.is_dir() for file in packed(cache))
