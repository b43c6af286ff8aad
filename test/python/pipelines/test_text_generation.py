# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text from a small random model: alone and among others, streamed, stopped, cancelled, refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern.errors import ExecutionError, InputError, InputTypeError
from kvern.pipelines import SamplingParams, TextGeneration
from pipelines import small_checkpoint

pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")

PAGE = 16
PROMPTS = ["a", "Hello there, how", "x" * 40, "of different lengths", "é🙂"]
RANDOM = SamplingParams(max_new_tokens=12, temperature=1.0, top_k=20, top_p=0.9, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_checkpoint.write_checkpoint(tmp_path_factory.mktemp("tiny"))


def make(folder: Path, **options: Any) -> TextGeneration:
    return TextGeneration(
        folder, **{"page_size": PAGE, "max_batch_size": 4, "num_threads": 1, **options}
    )


@pytest.fixture(scope="module")
def shared(folder: Path) -> TextGeneration:
    return make(folder)


@pytest.fixture
def generator(shared: TextGeneration) -> Iterator[TextGeneration]:
    shared.cache.reset_prefix_cache()
    yield shared
    assert shared.num_requests == 0
    assert shared.cache.get_num_used_pages() == 0


def greedy(count: int = 12, **more: Any) -> SamplingParams:
    return SamplingParams(max_new_tokens=count, ignore_eos=True, **more)


@pytest.fixture(scope="module")
def alone(shared: TextGeneration) -> dict[str, list[int]]:
    """What each prompt gives alone."""
    return {prompt: shared.generate(prompt, greedy()).tokens for prompt in PROMPTS}


def test_batch_equals_alone(generator: TextGeneration, alone: dict[str, list[int]]):
    for result, prompt in zip(generator.generate(PROMPTS, greedy()), PROMPTS, strict=True):
        assert result.tokens == alone[prompt]
        assert result.prompt_tokens == len(prompt.encode())
        assert result.finish_reason == "length"


def test_small_steps_and_few_pages_change_nothing(folder: Path, alone: dict[str, list[int]]):
    generator = make(folder, max_step_tokens=5, max_cache_bytes=6 * 2 * 2 * 2 * 8 * 4 * PAGE)
    results = generator.generate(PROMPTS, greedy())
    assert [result.tokens for result in results] == [alone[prompt] for prompt in PROMPTS]
    assert generator.cache.get_num_used_pages() == 0


def test_seeds(generator: TextGeneration):
    first = generator.generate("Hello", RANDOM)
    assert first.seed == 5
    among = generator.generate(["Hello", "other", "more"], [RANDOM, greedy(), RANDOM])[0]
    other = generator.generate("Hello", SamplingParams(**{**vars(RANDOM), "seed": 6}))
    assert first.tokens == among.tokens != other.tokens
    unseeded = SamplingParams(**{**vars(RANDOM), "seed": None})
    found = generator.generate("Hello", unseeded)
    again = generator.generate("Hello", SamplingParams(**{**vars(RANDOM), "seed": found.seed}))
    assert found.tokens == again.tokens


def test_penalties(generator: TextGeneration):
    plain = generator.generate("Hello", greedy(40))
    never = greedy(40, presence_penalty=100.0)
    results = generator.generate(["Hello", "Hello"], [never, greedy(40)])
    # Among others that have penalties, one without is as it was.
    assert results[1].tokens == plain.tokens
    assert len(set(results[0].tokens)) == 40 and len(set(plain.tokens)) < 40
    prompt = generator.tokenizer.encode("Hello")
    assert not set(prompt) & set(results[0].tokens)
    again = generator.generate("Hello", greedy(40, repetition_penalty=1e9))
    assert len(set(again.tokens)) == 40


def test_stream_equals_result(generator: TextGeneration):
    expected = generator.generate("Hello", greedy())
    assert "".join(generator.stream("Hello", greedy())) == expected.text
    assert generator.tokenizer.decode(expected.tokens) == expected.text
    request = generator.submit("Hello", greedy())
    assert "".join(request) == request.result().text == expected.text


def test_stop_strings(generator: TextGeneration):
    text = generator.generate("Hello", greedy(30)).text
    stop = text[4:6]
    result = generator.generate("Hello", greedy(30, stop=["never there", stop]))
    assert (result.text, result.finish_reason) == (text[: text.index(stop)], "stop")
    assert len(result.tokens) < 30


def test_tokens_that_end_texts(folder: Path, generator: TextGeneration):
    token = generator.generate("Hello", greedy()).tokens[3]
    tokenizer = generator.tokenizer
    before, tokenizer.eos_ids = tokenizer.eos_ids, frozenset([token])
    try:
        result = generator.generate("Hello", SamplingParams(max_new_tokens=12))
    finally:
        tokenizer.eos_ids = before
    assert result.finish_reason == "stop" and result.tokens.index(token) == len(result.tokens) - 1
    assert result.text == tokenizer.decode(result.tokens[:-1])


def test_the_context_ends_a_text(generator: TextGeneration):
    prompt = [5] * (small_checkpoint.CONTEXT - 3)
    result = generator.generate([prompt], greedy(50))[0]
    assert (len(result.tokens), result.finish_reason) == (3, "length")


def test_cancelling_frees_pages(generator: TextGeneration):
    free = generator.cache.get_num_free_pages()
    running, other = (generator.submit("Hello", greedy(40)) for _ in range(2))
    waiting = [generator.submit("x", greedy(40)) for _ in range(4)]
    pieces = [next(running) for _ in range(3)]
    assert generator.cache.get_num_free_pages() < free
    for request in (running, other, *waiting):
        request.cancel()
    assert generator.cache.get_num_free_pages() == free
    result = running.result()
    assert result.finish_reason == "cancelled" and result.text.startswith("".join(pieces))
    assert waiting[-1].result().tokens == []


def test_a_stream_that_is_left_frees_pages(generator: TextGeneration):
    stream = generator.stream("Hello", greedy(40))
    next(stream)
    assert generator.num_requests == 1
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert generator.num_requests == 0


def test_prompts_that_begin_alike_share_pages(generator: TextGeneration):
    first = generator.generate("x" * 40, greedy())
    second = generator.generate("x" * 40, greedy())
    third = generator.generate("x" * 36 + "y", greedy())
    assert (first.cached_tokens, second.cached_tokens, third.cached_tokens) == (0, 32, 32)
    assert second.tokens == first.tokens


def test_chat(generator: TextGeneration):
    messages = [{"role": "user", "content": "hi"}]
    prompt = "[user]hi\n[assistant]"
    expected = generator.generate(prompt, greedy())
    assert generator.generate([messages], greedy())[0].tokens == expected.tokens


def test_logprobs(generator: TextGeneration):
    result = generator.generate("Hello", greedy(4, logprobs=small_checkpoint.VOCAB - 160))
    assert result.logprobs is not None and len(result.logprobs) == 4
    for token, found in zip(result.tokens, result.logprobs, strict=True):
        assert found.token == token == found.top[0][0]
        assert found.logprob == found.top[0][1]
        values = [value for _, value in found.top]
        assert values == sorted(values, reverse=True)
        assert 0.5 < np.exp(values).sum() < 1
    assert generator.generate("Hello", greedy(1)).logprobs is None


def test_threads_share_steps(generator: TextGeneration, alone: dict[str, list[int]]):
    results: dict[str, list[int]] = {}

    def work(prompt: str) -> None:
        results[prompt] = generator.submit(prompt, greedy()).result().tokens

    threads = [threading.Thread(target=work, args=(prompt,)) for prompt in PROMPTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == alone


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_a_step_that_fails_leaves_nothing(
    generator: TextGeneration, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    requests = [generator.submit(prompt, greedy()) for prompt in PROMPTS]
    next(requests[0])

    def fail(batch: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(generator._runner, "run", fail)
        with pytest.raises(type(error)):
            requests[0].result()
    with pytest.raises(ExecutionError, match="the request has ended"):
        requests[1].result()
    # What waited goes on.
    assert len(requests[4].result().tokens) == 12


@pytest.mark.parametrize(
    ("prompt", "params", "message"),
    [
        ("", {}, "expected a prompt of at least one token, but it is empty"),
        ([], {}, "at least one token"),
        ("x" * 96, {}, "expected a prompt of at most 95 tokens, .* but got 96"),
        ([258], {}, "expected tokens from 0 to 257, but got 258"),
        ([-1], {}, "but got -1"),
        (["a"], {}, "expected a prompt of text, tokens or messages"),
        ("a", {"temperature": -1.0}, "expected temperature to be at least 0"),
        ("a", {"temperature": float("nan")}, "expected temperature"),
        ("a", {"top_p": 0.0}, "expected top_p to be above 0"),
        ("a", {"top_p": 1.5}, "expected top_p to be from 0.0 to 1.0, but got 1.5"),
        ("a", {"min_p": 2.0}, "expected min_p"),
        ("a", {"repetition_penalty": 0.0}, "expected repetition_penalty to be above 0, but got 0"),
        ("a", {"frequency_penalty": 1e9}, "expected frequency_penalty to be from -100"),
        ("a", {"top_k": -1}, "expected top_k to be at least 0, but got -1"),
        ("a", {"top_k": 1.5}, "expected top_k to be a number, but got 1.5"),
        ("a", {"seed": 2**64}, "expected seed"),
        ("a", {"max_new_tokens": 0}, "expected max_new_tokens to be at least 1, but got 0"),
        ("a", {"stop": [""]}, "expected stop strings that are not empty"),
    ],
)
def test_refused(generator: TextGeneration, prompt: Any, params: dict[str, Any], message: str):
    with pytest.raises((InputError, InputTypeError), match=message):
        generator.generate([prompt], SamplingParams(**params))


def test_a_request_that_can_never_fit_names_the_terms(folder: Path):
    generator = make(folder, max_cache_bytes=2 * 2 * 2 * 2 * 8 * 4 * PAGE)
    message = (
        "20 tokens of the prompt and 30 new ones need 4 pages of 16 tokens, and the cache has 2"
    )
    with pytest.raises(InputError, match=message):
        generator.generate([[1] * 20], greedy(30))
    # Without a number of tokens, the cache is the end.
    result = generator.generate([[1] * 20], SamplingParams(ignore_eos=True))[0]
    assert (len(result.tokens), result.finish_reason) == (13, "length")


def test_options(folder: Path):
    with pytest.raises(InputError, match="expected max_length from 2 to the context of 96 tokens"):
        make(folder, max_length=97)
    with pytest.raises(InputError, match="expected max_batch_size >= 1, but got 0"):
        make(folder, max_batch_size=0)
    with pytest.raises(InputError, match="expected max_cache_bytes to hold a page of 4096 bytes"):
        make(folder, max_cache_bytes=100)
