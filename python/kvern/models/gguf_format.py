# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: their names of tensors, their metadata, and numbers from their blocks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import UnsupportedError
from kvern.graph.weights.gguf_header import GGUFHeader
from kvern.models.architecture import Architecture
from kvern.models.config import ModelConfig, RopeConfig
from kvern.models.fields import MOST_LAYERS, MOST_POSITIONS, Fields

__all__ = ["ROPE_DIVISORS", "dequantized", "file_name", "our_name", "read_config"]

# What the frequencies of rotary embeddings are divided by, where they are scaled.
ROPE_DIVISORS = "rope_freqs.weight"

_TOP = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "output": "lm_head",
}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
# With norms behind attention and network, there are names of their own.
_FOUR_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_FOUR_NORM_ARCHITECTURES = ("gemma2",)
# Elements that are made at once.
_STEP = 2**18
_FLOATS = {"F32": DType.float32, "F16": DType.float16, "BF16": DType.bfloat16, "F64": DType.float32}


def _blocks(architecture: str) -> dict[str, str]:
    return {**_BLOCK, **_FOUR_NORMS} if architecture in _FOUR_NORM_ARCHITECTURES else _BLOCK


def our_name(name: str, architecture: str) -> str | None:
    """Returns the name in our module of a tensor; its own if it has none, None if it is no weight."""
    if name == ROPE_DIVISORS:
        return None
    found = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    if not found:
        return name
    layer, part, kind = found.groups()
    if layer is None:
        return f"{_TOP[part]}.{kind}" if part in _TOP else name
    ours = _blocks(architecture).get(part)
    return f"layers.{layer}.{ours}.{kind}" if ours else name


def file_name(name: str, architecture: str) -> str:
    """Returns the name of a tensor in the file."""
    part, _, kind = name.rpartition(".")
    found = re.fullmatch(r"layers\.(\d+)\.(.+)", part)
    table = _blocks(architecture) if found else _TOP
    ours = found.group(2) if found else part
    theirs = next((key for key, value in table.items() if value == ours), ours)
    return f"blk.{found.group(1)}.{theirs}.{kind}" if found else f"{theirs}.{kind}"


def read_config(
    header: GGUFHeader,
    source: str,
    architectures: dict[str, Architecture],
    divisors: np.ndarray[Any, Any] | None,
) -> ModelConfig:
    """Reads the metadata.

    Args:
        header: Of the file.
        source: The file, for errors.
        architectures: By name.
        divisors: The tensor `ROPE_DIVISORS`, if there is one.

    Raises:
        ValueError: Values are missing or wrong; all are listed.
        NotImplementedError: The architecture is not supported.
    """
    known = {kind: each for each in architectures.values() for kind in each.gguf}
    kind = header.metadata.get("general.architecture")
    if not isinstance(kind, str) or kind not in known:
        raise UnsupportedError(
            f"expected general.architecture in {source} to be one of {', '.join(sorted(known))}, but got {kind!r}"
        )
    architecture = known[kind]
    f = Fields(header.metadata, source, f"{kind}.")
    if f.integer("expert_count", 0, least=0) > 0:
        raise UnsupportedError(
            f"expected a model without experts, but got {kind}.expert_count = {f.get('expert_count')} in {source}"
        )
    if header.metadata.get("split.count", 1) not in (0, 1):
        raise UnsupportedError(
            f"expected a whole model, but got {source}, which is one of several parts"
        )
    hidden, heads = f.integer("embedding_length"), f.integer("attention.head_count")
    if f.get("attention.key_length") is None and hidden % heads:
        f.problems.append(
            f"{kind}.embedding_length: expected a multiple of the {heads} heads, but got {hidden}"
        )
    head_dim = f.integer("attention.key_length", max(1, hidden // heads))
    for key in ("attention.value_length", "rope.dimension_count"):
        if f.integer(key, head_dim) != head_dim:
            f.problems.append(
                f"{kind}.{key}: expected the {head_dim} of a key, but got {f.get(key)}"
            )
    embedding = header.tensors.get("token_embd.weight")
    rows = embedding.shape[0] if embedding and embedding.shape else None
    common: dict[str, Any] = {
        "hidden_size": hidden,
        "intermediate_size": f.integer("feed_forward_length"),
        "num_layers": f.integer("block_count", most=MOST_LAYERS),
        "num_heads": heads,
        "num_kv_heads": f.integer("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "vocab_size": f.integer("vocab_size", rows or 1),
        "max_seq_len": f.integer("context_length", most=MOST_POSITIONS),
        "rms_norm_eps": f.number("attention.layer_norm_rms_epsilon"),
        "rope": _rope(f, architecture.gguf_interleaved, divisors),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "qkv_bias": "blk.0.attn_q.bias" in header.tensors,
        "o_bias": "blk.0.attn_output.bias" in header.tensors,
        "mlp_bias": "blk.0.ffn_up.bias" in header.tensors,
    }
    own = architecture.from_gguf(f)
    tokens = Fields(header.metadata, source, "tokenizer.ggml.")
    named = [tokens.ids(f"{key}_token_id") for key in ("eos", "eot", "eom")]
    common["eos_token_ids"] = tuple(dict.fromkeys(i for ids in named for i in ids))
    common["bos_token_id"] = next(iter(tokens.ids("bos_token_id")), None)
    f.problems += tokens.problems
    f.check()
    return ModelConfig(architecture=architecture.name, dtype=_dtype(header), **{**common, **own})


def _rope(f: Fields, interleaved: bool, divisors: np.ndarray[Any, Any] | None) -> RopeConfig:
    theta = f.number("rope.freq_base", 10000.0)
    if divisors is not None:
        values = tuple(float(value) for value in divisors.ravel())
        return RopeConfig(theta, interleaved, scaling="divisors", divisors=values)
    kind = f.get("rope.scaling.type", "none")
    if kind not in ("none", "linear"):
        raise UnsupportedError(
            f"expected {f.prefix}rope.scaling.type in {f.source} to be none or linear, but got {kind!r}"
        )
    # Older files have scale_linear alone.
    factor = f.number("rope.scaling.factor", f.number("rope.scale_linear", 1.0))
    scaled = factor != 1.0
    return RopeConfig(theta, interleaved, "linear" if scaled else "none", factor)


def _dtype(header: GGUFHeader) -> DType:
    """That of all matrices, if they are numbers of one type; else float32."""
    kinds = {tensor.type for tensor in header.tensors.values() if len(tensor.shape) > 1}
    return _FLOATS.get(kinds.pop(), DType.float32) if len(kinds) == 1 else DType.float32


def dequantized(
    blocks: np.ndarray[Any, Any], kind: str, name: str, shape: tuple[int, ...], dtype: DType
) -> np.ndarray[Any, Any]:
    """Returns the numbers of blocks; takes little memory besides.

    Args:
        blocks: uint8, rows of blocks along the last axis.
        kind: The format, such as "Q4_1".
        name: The tensor, for errors.
        shape: Sizes in elements.
        dtype: Element type of the result.

    Raises:
        NotImplementedError: The package gguf is not installed, or does not know the format.
    """
    try:
        import gguf
    except ImportError:
        raise UnsupportedError(
            f"making numbers of the {kind} blocks of {name!r} needs the package gguf: pip install gguf"
        ) from None
    rows = blocks.reshape(-1, blocks.shape[-1])
    made = np.empty((rows.shape[0], shape[-1]), dtype.to_ml_dtypes())
    step = max(1, _STEP // max(1, shape[-1]))
    try:
        for begin in range(0, rows.shape[0], step):
            part = rows[begin : begin + step]
            made[begin : begin + step] = gguf.dequantize(part, gguf.GGMLQuantizationType[kind])
    except (NotImplementedError, KeyError) as error:
        raise UnsupportedError(
            f"the package gguf cannot make numbers of the {kind} blocks of {name!r}: {error}"
        ) from None
    return made.reshape(shape)
