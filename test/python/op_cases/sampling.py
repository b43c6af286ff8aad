# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling, penalties and random numbers; the generator and the sampler again, by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import DeviceRef, Dim, TensorType, ops

from op_cases.case import Case

WORD = 2**32 - 1


def philox(seed: int, position: int, stream: int = 0) -> list[int]:
    """The four words of Philox 4x32-10 (Salmon et al., 2011)."""
    c = [position & WORD, position >> 32, stream, 0]
    key = [seed & WORD, seed >> 32]
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(high >> 32) ^ c[1] ^ key[0], high & WORD, (low >> 32) ^ c[3] ^ key[1], low & WORD]
        key = [(key[0] + 0x9E3779B9) & WORD, (key[1] + 0xBB67AE85) & WORD]
    return c


def uniform(seed: Any, position: Any, stream: int = 0, bits: int = 53) -> float:
    """The number from 0 to below 1."""
    first, second, *_ = philox(int(seed), int(position), stream)
    return ((first << 32 | second) >> (64 - bits)) * 2.0**-bits


def uniforms(seed: Any, position: Any, stream: int) -> Any:
    """The numbers of `ops.random_uniform`."""
    return np.vectorize(lambda s, p: uniform(s, p, stream, 24), otypes=[float])(seed, position)


def _random(seed: Any) -> Any:
    like = TensorType(DType.float32, [3, 4], DeviceRef.CPU())
    ops.random.set_seed(seed)
    return (
        ops.random.uniform(like),
        ops.random.uniform(like, range=(-2, 5)),
        ops.random.gaussian(like, mean=1.0, std=3.0),
        ops.random.normal(TensorType(DType.float64, [0], DeviceRef.CPU())),
    )


def _random_reference(seed: Any) -> Any:
    """Each draw has its stream; a Gaussian one takes two (Box and Muller, 1958)."""
    seeds, places = np.full(12, seed), np.arange(12)
    u = [uniforms(seeds, places, 2**16 + i).reshape(3, 4) for i in range(1, 5)]
    normal = np.sqrt(-2 * np.log(1 - u[2])) * np.cos(2 * np.pi * u[3])
    return u[0], u[1] * 7 - 2, normal * 3 + 1, np.zeros(0)


def kept_tokens(
    logits: Any, temperature: float, top_k: int, top_p: float, min_p: float
) -> tuple[Any, Any, float]:
    """What is kept, by number, with weights, and how near to another choice rounding could lead."""
    order = np.lexsort((np.arange(logits.size), -logits))
    weights = np.exp((logits - logits.max()) / temperature)
    kept = order[:top_k] if top_k > 0 else order
    part = np.cumsum(weights[kept]) / weights[kept].sum()
    margin = np.abs(part - top_p).min() if top_p < 1 else 1.0
    count = int((part < top_p).sum()) + 1 if top_p < 1 else kept.size
    if min_p > 0:
        ratio = weights[kept]
        margin = min(margin, np.abs(ratio - min_p)[ratio != 1].min(initial=1.0))
        count = min(count, int((ratio >= min(min_p, 1)).sum()))
    kept = np.sort(kept[:count])
    return kept, weights[kept], margin


def sampled(
    logits: Any,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    seed: Any,
    position: Any,
    stream: int = 0,
) -> tuple[int, float, float]:
    """The token of one row, its log-probability, and the margin of the choice."""
    largest = logits.max()
    if not np.isfinite(largest):
        return -1, np.nan, 1.0
    logprobs = logits - largest - np.log(np.exp(logits - largest).sum())
    if not temperature > 0 or top_k == 1:
        token = int(logits.argmax())
        return token, logprobs[token], 1.0
    kept, weights, margin = kept_tokens(logits, temperature, top_k, top_p, min_p)
    sums = np.cumsum(weights) / weights.sum()
    u = uniform(seed, position, stream)
    token = int(kept[min(int((sums <= u).sum()), kept.size - 1)])
    margin = min(margin, np.abs(sums[:-1] - u).min(initial=1.0))
    return token, logprobs[token], margin


def reference(*arrays: Any, stream: int = 0) -> tuple[Any, Any]:
    """Tokens and log-probabilities."""
    rows = [sampled(*row, stream=stream)[:2] for row in zip(*arrays, strict=True)]
    tokens, logprobs = zip(*rows, strict=True) if rows else ((), ())
    return np.array(tokens, np.int64), np.array(logprobs)


def filtered(*arrays: Any) -> Any:
    """Logits whose softmax is what is drawn from."""
    result = np.full(arrays[0].shape, -np.inf)
    for row, (logits, temperature, top_k, top_p, min_p) in enumerate(zip(*arrays, strict=True)):
        largest = logits.max()
        if not np.isfinite(largest):
            result[row] = np.nan
        elif not temperature > 0 or top_k == 1:
            result[row, logits.argmax()] = 0
        else:
            kept, *_ = kept_tokens(logits, temperature, top_k, top_p, min_p)
            result[row, kept] = (logits[kept] - largest) / temperature
    return result


def parameters(rows: int, vocab: int, seed: int = 0) -> list[Any]:
    """Rows of all kinds whose choice no rounding changes; every third has ties."""
    rng = np.random.default_rng(seed + vocab)
    result: list[tuple[Any, ...]] = []
    while len(result) < rows:
        logits = (rng.normal(size=vocab) * 3).astype(np.float32)
        if len(result) % 3 == 0:
            logits = np.round(logits * 2) / 2
        row = (
            logits,
            rng.choice([0, 0.3, 0.7, 1, 1.5, 100]),
            rng.choice([-1, 0, 1, 2, 5, 40, 300]),
            rng.choice([0, 0.1, 0.5, 0.9, 0.95, 1, 2]),
            rng.choice([0, 0, 0.05, 0.2, 1, 1.5]),
            rng.integers(0, 2**64, dtype=np.uint64),
            rng.integers(0, 2**64, dtype=np.uint64),
        )
        rounded = [np.float64(np.float32(v)) if i in (1, 3, 4) else v for i, v in enumerate(row)]
        if sampled(logits.astype(np.float64), *rounded[1:])[2] > 1e-5:
            result.append(row)
    kinds = [np.float32] * 2 + [np.int64] + [np.float32] * 2 + [np.uint64] * 2
    columns = list(zip(*result, strict=True)) if result else [np.zeros((0, vocab))] + [[]] * 6
    return [np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]


def special(vocab: int) -> list[Any]:
    """Rows without a distribution, with few finite logits, and with extreme ones."""
    rows = parameters(9, vocab)
    logits = rows[0]
    logits[0] = -np.inf
    logits[1, -1] = np.nan
    logits[2, 0] = np.inf
    logits[3, : vocab - 1] = -np.inf
    logits[4] = 0
    logits[5] = np.float32(3e38)
    logits[6] = np.where(np.arange(vocab) % 2, np.float32(-3e38), np.float32(3e38))
    logits[7] = np.where(np.arange(vocab) % 2, 0.0, -0.0)
    rows[1][:] = 1
    rows[2][:] = [0, 0, 0, 5, 3, 1, 0, 2, 0]
    rows[3][:] = 1
    rows[4][:] = 0
    return rows


def penalized(logits: Any, data: Any, offsets: Any, f: Any, p: Any, r: Any) -> Any:
    result = logits.copy()
    for row in range(len(logits)):
        for token, count in data[offsets[row] : offsets[row + 1]]:
            if 0 <= token < logits.shape[1] and count > 0:
                value = result[row, token]
                value = value / r[row] if value > 0 else value * r[row]
                result[row, token] = value - f[row] * count - p[row]
    return result


def counted(data: Any, offsets: Any, tokens: Any) -> Any:
    result = data.copy()
    for row, token in enumerate(tokens):
        own = range(offsets[row], offsets[row + 1])
        place = next((i for i in own if data[i, 0] == token), None)
        if place is None:
            place = next((i for i in own if data[i, 0] < 0), None)
        if place is not None and token >= 0:
            result[place] = token, result[place, 1] * (data[place, 0] == token) + 1
    return result


COUNTS = np.array(
    [[3, 2], [0, 1], [-1, 0], [12, 9], [-7, 3], [5, 0], [1, 4], [-1, 0], [2, 1]], np.int32
)
ROWS = np.array([0, 3, 3, 7, 9], np.uint32)
B, V = "b", "v"


def _sample(*x: Any, stream: int = 0) -> Any:
    return ops.sample_tokens(*x[:5], seed=x[5], position=x[6], stream=stream)


def _sample_case(label: str, vocab: int, bindings: list[Any], static: bool = False) -> Case:
    size = vocab if static else V
    shapes = [[B, size], *[[B]] * 6]
    return Case("sample_tokens", label, _sample, reference, bindings, shapes)


CASES = [
    _sample_case("one-token", 1, [parameters(6, 1)], static=True),
    _sample_case(
        "small", 7, [parameters(24, 7), parameters(24, 130), parameters(1, 5), parameters(0, 3)]
    ),
    _sample_case("large", 4100, [parameters(48, 4100)], static=True),
    _sample_case("special", 70, [special(70)], static=True),
    Case(
        "sample_tokens",
        "scalars-stream",
        lambda x, seed, at: ops.sample_tokens(
            x, 0.8, 4, 0.9, 0.1, seed=seed, position=at, stream=9
        ),
        lambda x, seed, at: reference(
            x, *[np.full(6, v) for v in (0.8, 4, 0.9, 0.1)], seed, at, stream=9
        ),
        [[parameters(6, 20)[i] for i in (0, 5, 6)]],
    ),
    Case("filter_logits", "small", ops.filter_logits, filtered, [parameters(24, 7)[:5]]),
    Case(
        "filter_logits",
        "large",
        ops.filter_logits,
        filtered,
        [parameters(12, 600)[:5], parameters(0, 9)[:5]],
        [[B, V], *[[B]] * 4],
    ),
    Case("filter_logits", "special", ops.filter_logits, filtered, [special(70)[:5]]),
    Case(
        "random_uniform",
        "",
        lambda seed, at: (
            ops.random_uniform(seed, at),
            ops.random_uniform(seed, at, stream=2**32 - 1),
        ),
        lambda seed, at: (uniforms(seed, at, 0), uniforms(seed, at, 2**32 - 1)),
        [
            [
                np.array([[0, 1, 2**64 - 1], [5, 5, 5]], np.uint64),
                np.array([[0, 1, 2**64 - 1], [0, 1, 2**32]], np.uint64),
            ],
            [np.zeros((0, 3), np.uint64)] * 2,
        ],
        [["n", 3]] * 2,
    ),
    Case(
        "random",
        "",
        _random,
        _random_reference,
        [[np.array(5, np.uint64)], [np.array(2**64 - 1, np.uint64)]],
    ),
    Case(
        "apply_penalties",
        "rows",
        lambda x, data, offsets, f, p, r: ops.apply_penalties(
            x, data, offsets, frequency_penalty=f, presence_penalty=p, repetition_penalty=r
        ),
        penalized,
        [
            [
                np.linspace(-2, 2, 40, dtype=np.float32).reshape(4, 10),
                COUNTS,
                ROWS,
                np.array([0.5, 0, -0.25, 1], np.float32),
                np.array([0, 1, 0.5, -1], np.float32),
                np.array([1, 2, 1.5, 0.5], np.float32),
            ]
        ],
        [[B, V], ["n", 2], [Dim(B) + 1], [B], [B], [B]],
    ),
    Case(
        "apply_penalties",
        "none",
        ops.apply_penalties,
        lambda x, data, offsets: x,
        [[np.ones((4, 33), np.float32), COUNTS, ROWS]],
    ),
    Case(
        "apply_penalties",
        "wild-offsets",
        lambda x, data, offsets: ops.apply_penalties(x, data, offsets, presence_penalty=1.0),
        lambda x, data, offsets: x - np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]),
        [
            [
                np.zeros((3, 4), np.float32),
                np.array([[0, 1], [1, 1], [2, 1], [3, 1]], np.int32),
                np.array([2**32 - 1, 0, 2**32 - 1, 9], np.uint32),
            ]
        ],
    ),
    Case(
        "count_tokens",
        "",
        ops.count_tokens,
        counted,
        [
            [COUNTS, ROWS, np.array([3, 3, 5, 2], np.int64)],
            [COUNTS, ROWS, np.array([8, 0, 9, 2], np.int64)],
            [COUNTS, ROWS, np.array([-1, -1, 1, 7], np.int64)],
            [COUNTS, np.zeros(1, np.uint32), np.zeros(0, np.int64)],
        ],
        [["n", 2], [Dim(B) + 1], [B]],
    ),
]
