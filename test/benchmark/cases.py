# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured: each case once, in operations that every contender translates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One computation at one size.

    `forward(ops, inputs, weights)` computes it with the operations of a contender. `flops` and `bytes` are the
    least that any implementation needs: what is read and written once, in the stored types.
    """

    name: str
    family: str
    inputs: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]
    forward: Callable[[Any, dict[str, Any], dict[str, Any]], Any]
    flops: float
    bytes: float
    dtype: str = "float32"
    """Of inputs and weights; `float32`, `bfloat16`."""
    encoding: str | None = None
    """GGUF's name for how the weight `w` is stored."""
    tolerance: float = 2e-4
    """Of the result, relative to its largest element."""
    symbolic: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    """Shapes of inputs with named sizes, for compilers that can keep them open."""
    indices: dict[str, int] = field(default_factory=dict)
    """Inputs that are int64, below this number; all others are of `dtype`."""


def select(patterns: list[str]) -> list[Case]:
    """The cases whose names contain one of `patterns`; all when there is none."""
    cases = list(_all())
    return [case for case in cases if not patterns or any(p in case.name for p in patterns)]


def _all() -> Iterator[Case]:
    yield from _matmuls()
    yield from _quantized()
    yield from _rows()
    yield from _attention()
    yield from _convolutions()
    yield from _models()


def _linear(m: int, n: int, k: int, dtype: str = "float32") -> Case:
    size = 2 if dtype == "bfloat16" else 4
    short = {"float32": "f32", "bfloat16": "bf16"}[dtype]
    return Case(
        name=f"matmul/{short}/{m}x{n}x{k}",
        family="gemv" if m == 1 else "skinny" if m < 64 else "gemm",
        inputs={"x": (m, k)},
        weights={"w": (n, k)},
        forward=lambda ops, i, w: ops.linear(i["x"], w["w"]),
        flops=2.0 * m * n * k,
        bytes=size * (m * k + n * k + m * n),
        dtype=dtype,
        tolerance=2e-4 if dtype == "float32" else 2e-2,
        symbolic={"x": ("m", k)},
    )


def _matmuls() -> Iterator[Case]:
    for m, n, k in [
        (1024, 1024, 1024),
        (512, 2048, 2048),
        (128, 4096, 4096),
        (128, 11008, 4096),
        (1, 4096, 4096),
        (1, 11008, 4096),
    ]:
        yield _linear(m, n, k)
    for m in (2, 3, 4, 6, 8, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 131):
        yield _linear(m, 4096, 4096)
    for m in (1, 8, 128):
        yield _linear(m, 4096, 4096, "bfloat16")


def _quantized() -> Iterator[Case]:
    bytes_per_weight = {"Q8_0": 34 / 32, "Q4_0": 18 / 32, "Q4_1": 20 / 32}
    for encoding, size in bytes_per_weight.items():
        for m in (1, 8, 128) if encoding != "Q4_1" else (1,):
            n = k = 4096
            yield Case(
                name=f"matmul/{encoding}/{m}x{n}x{k}",
                family="quantized",
                inputs={"x": (m, k)},
                weights={"w": (n, k)},
                forward=lambda ops, i, w, encoding=encoding: ops.quantized_linear(
                    i["x"], w["w"], encoding
                ),
                flops=2.0 * m * n * k,
                bytes=size * n * k + 4 * (m * k + m * n),
                encoding=encoding,
                tolerance=5e-2,
                symbolic={"x": ("m", k)},
            )


def _rows() -> Iterator[Case]:
    for rows, columns in [(1024, 1024), (4096, 4096)]:
        size = 8 * rows * columns
        shape = {"x": (rows, columns)}
        open_shape = {"x": ("rows", columns)}
        yield Case(
            f"softmax/{rows}x{columns}",
            "rows",
            shape,
            {},
            lambda ops, i, w: ops.softmax(i["x"]),
            0,
            size,
            symbolic=open_shape,
        )
        yield Case(
            f"gelu/{rows}x{columns}",
            "rows",
            shape,
            {},
            lambda ops, i, w: ops.gelu(i["x"]),
            0,
            size,
            symbolic=open_shape,
        )
    for rows, columns in [(128, 768), (4096, 768), (2048, 4096)]:
        size = 8 * rows * columns
        yield Case(
            f"rms_norm/{rows}x{columns}",
            "rows",
            {"x": (rows, columns)},
            {"w": (columns,)},
            lambda ops, i, w: ops.rms_norm(i["x"], w["w"], 1e-5),
            0,
            size,
            symbolic={"x": ("rows", columns)},
        )
        yield Case(
            f"layer_norm/{rows}x{columns}",
            "rows",
            {"x": (rows, columns)},
            {"w": (columns,), "b": (columns,)},
            lambda ops, i, w: ops.layer_norm(i["x"], w["w"], w["b"], 1e-5),
            0,
            size,
            symbolic={"x": ("rows", columns)},
        )
    batch, seq, heads, d = 1, 2048, 32, 128
    yield Case(
        f"rope/{seq}x{heads}x{d}",
        "rows",
        {"x": (batch, seq, heads, d), "cos": (seq, d // 2), "sin": (seq, d // 2)},
        {},
        lambda ops, i, w: ops.rope(i["x"], i["cos"], i["sin"]),
        0,
        8 * batch * seq * heads * d,
        symbolic={"x": ("batch", "seq", heads, d), "cos": ("seq", d // 2), "sin": ("seq", d // 2)},
    )


def _attention() -> Iterator[Case]:
    for name, seq, seq_k, heads, kv_heads, d in [
        ("prefill-mha", 512, 512, 32, 32, 64),
        ("prefill-gqa", 512, 512, 32, 8, 64),
        ("decode-mha", 1, 2048, 32, 32, 128),
        ("decode-gqa", 1, 2048, 32, 8, 128),
    ]:
        pairs = seq * (seq + 1) / 2 + seq * (seq_k - seq)
        yield Case(
            f"attention/{name}",
            "attention",
            {"q": (1, seq, heads, d), "k": (1, seq_k, kv_heads, d), "v": (1, seq_k, kv_heads, d)},
            {},
            lambda ops, i, w: ops.attention(i["q"], i["k"], i["v"], causal=True),
            4.0 * pairs * heads * d,
            4.0 * (2 * seq * heads * d + 2 * seq_k * kv_heads * d),
            symbolic={
                "q": ("batch", "seq", heads, d),
                "k": ("batch", "keys", kv_heads, d),
                "v": ("batch", "keys", kv_heads, d),
            },
        )


def _convolutions() -> Iterator[Case]:
    for size, channels in [(56, 64), (28, 128), (14, 256)]:
        yield Case(
            f"conv3x3/{size}x{size}x{channels}",
            "conv",
            {"x": (1, size, size, channels)},
            {"w": (3, 3, channels, channels)},
            lambda ops, i, w: ops.conv2d(i["x"], w["w"], 1),
            2.0 * 9 * size * size * channels * channels,
            4.0 * (2 * size * size * channels + 9 * channels * channels),
            symbolic={"x": ("n", size, size, channels)},
        )


def _mlp(ops: Any, x: Any, gate: Any, up: Any, down: Any) -> Any:
    return ops.linear(ops.silu(ops.linear(x, gate)) * ops.linear(x, up), down)


@dataclass(frozen=True)
class LlamaSizes:
    """A decoder block of Llama's kind (Touvron et al., 2023), with grouped queries (Ainslie et al., 2023)."""

    hidden: int = 2048
    heads: int = 32
    kv_heads: int = 8
    feed_forward: int = 8192

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def weights(self) -> dict[str, tuple[int, ...]]:
        h, f, kv = self.hidden, self.feed_forward, self.kv_heads * self.head_dim
        matrices = {"q": (h, h), "k": (kv, h), "v": (kv, h), "o": (h, h)}
        return matrices | {
            "gate": (f, h),
            "up": (f, h),
            "down": (h, f),
            "norm1": (h,),
            "norm2": (h,),
        }


def _llama_block(
    ops: Any, i: dict[str, Any], w: dict[str, Any], sizes: LlamaSizes, seq: int | Any
) -> Any:
    s, d = sizes, sizes.head_dim
    x = i["x"]
    h = ops.rms_norm(x, w["norm1"], 1e-5)
    q = ops.reshape(ops.linear(h, w["q"]), [1, seq, s.heads, d])
    k = ops.reshape(ops.linear(h, w["k"]), [1, seq, s.kv_heads, d])
    v = ops.reshape(ops.linear(h, w["v"]), [1, seq, s.kv_heads, d])
    q, k = ops.rope(q, i["cos"], i["sin"]), ops.rope(k, i["cos"], i["sin"])
    if "past_k" in i:
        k, v = ops.concat([i["past_k"], k], 1), ops.concat([i["past_v"], v], 1)
    mixed = ops.attention(q, k, v, causal=True)
    x = x + ops.linear(ops.reshape(mixed, [seq, s.hidden]), w["o"])
    return x + _mlp(ops, ops.rms_norm(x, w["norm2"], 1e-5), w["gate"], w["up"], w["down"])


def _models() -> Iterator[Case]:
    m, hidden, feed_forward = 128, 1024, 4096
    yield Case(
        f"mlp/{m}x{hidden}x{feed_forward}",
        "model",
        {"x": (m, hidden)},
        {
            "gate": (feed_forward, hidden),
            "up": (feed_forward, hidden),
            "down": (hidden, feed_forward),
        },
        lambda ops, i, w: _mlp(ops, i["x"], w["gate"], w["up"], w["down"]),
        6.0 * m * hidden * feed_forward,
        4.0 * (3 * hidden * feed_forward + 2 * m * hidden),
        symbolic={"x": ("m", hidden)},
    )
    sizes = LlamaSizes()
    d, kv = sizes.head_dim, sizes.kv_heads
    parameters = sum(int(np.prod(shape)) for shape in sizes.weights().values())
    for name, seq, past in [("prefill", 128, 0), ("decode", 1, 512)]:
        inputs = {"x": (seq, sizes.hidden), "cos": (seq, d // 2), "sin": (seq, d // 2)}
        symbolic = {"x": ("seq", sizes.hidden), "cos": ("seq", d // 2), "sin": ("seq", d // 2)}
        if past:
            inputs |= {"past_k": (1, past, kv, d), "past_v": (1, past, kv, d)}
            symbolic |= {"past_k": (1, "past", kv, d), "past_v": (1, "past", kv, d)}
        pairs = seq * (seq + 1) / 2 + seq * past
        yield Case(
            f"llama-block/{name}",
            "model",
            inputs,
            sizes.weights(),
            lambda ops, i, w: _llama_block(ops, i, w, sizes, i["x"].shape[0]),
            2.0 * parameters * seq + 4.0 * pairs * sizes.hidden,
            4.0 * parameters,
            symbolic=symbolic,
        )
    yield _encoder(batch=8, seq=64)


@dataclass(frozen=True)
class EncoderSizes:
    """all-MiniLM-L6-v2: an encoder of BERT's kind (Devlin et al., 2018), of six layers."""

    layers: int = 6
    hidden: int = 384
    heads: int = 12
    feed_forward: int = 1536
    vocabulary: int = 30522

    def layer_weights(self) -> dict[str, tuple[int, ...]]:
        h, f = self.hidden, self.feed_forward
        weights: dict[str, tuple[int, ...]] = {
            "q": (h, h),
            "k": (h, h),
            "v": (h, h),
            "o": (h, h),
            "in": (f, h),
        }
        weights |= {
            "out": (h, f),
            "b_q": (h,),
            "b_k": (h,),
            "b_v": (h,),
            "b_o": (h,),
            "b_in": (f,),
            "b_out": (h,),
        }
        return weights | {"gamma1": (h,), "beta1": (h,), "gamma2": (h,), "beta2": (h,)}

    def weights(self) -> dict[str, tuple[int, ...]]:
        weights: dict[str, tuple[int, ...]] = {"words": (self.vocabulary, self.hidden)}
        for layer in range(self.layers):
            weights |= {f"{name}_{layer}": shape for name, shape in self.layer_weights().items()}
        return weights


def _encoder(batch: int, seq: int) -> Case:
    sizes = EncoderSizes()
    h, d = sizes.hidden, sizes.hidden // sizes.heads

    def forward(ops: Any, i: dict[str, Any], all_weights: dict[str, Any]) -> Any:
        b, n = i["tokens"].shape
        x = ops.embedding(all_weights["words"], i["tokens"])
        for layer in range(sizes.layers):
            w = {name: all_weights[f"{name}_{layer}"] for name in sizes.layer_weights()}
            q, k, v = (
                ops.reshape(ops.linear(x, w[name]) + w[f"b_{name}"], [b, n, sizes.heads, d])
                for name in "qkv"
            )
            mixed = ops.reshape(ops.attention(q, k, v, causal=False), [b, n, h])
            x = ops.layer_norm(
                x + ops.linear(mixed, w["o"]) + w["b_o"], w["gamma1"], w["beta1"], 1e-12
            )
            inner = ops.gelu(ops.linear(x, w["in"]) + w["b_in"])
            x = ops.layer_norm(
                x + ops.linear(inner, w["out"]) + w["b_out"], w["gamma2"], w["beta2"], 1e-12
            )
        return x

    matrices = sum(
        shape[0] * shape[1] for shape in sizes.layer_weights().values() if len(shape) == 2
    )
    tokens = batch * seq
    flops = sizes.layers * (2.0 * tokens * matrices + 4.0 * tokens * seq * h)
    return Case(
        f"minilm/{batch}x{seq}",
        "model",
        {"tokens": (batch, seq)},
        sizes.weights(),
        forward,
        flops,
        4.0 * sizes.layers * matrices,
        symbolic={"tokens": ("batch", "seq")},
        indices={"tokens": sizes.vocabulary},
        tolerance=1e-3,
    )
