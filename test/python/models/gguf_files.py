# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes GGUF files of models of transformers, as its converters do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GEMMA_NAMES = {
    **NAMES,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}


def neighbours(rows: np.ndarray, heads: int) -> np.ndarray:
    """Brings the rows of each head from halves to neighbouring pairs."""
    halves = rows.reshape(heads, 2, -1, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def gguf_tensors(model: Any) -> dict[str, np.ndarray]:
    """The weights of a model by the names of GGUF files, in float32."""
    config, found = model.config, {}
    kind = config.model_type
    for name, value in model.named_parameters():
        array = value.detach().float().numpy()
        part, _, suffix = name.removeprefix("model.").rpartition(".")
        if kind == "llama" and part.endswith(("q_proj", "k_proj")):
            is_query = part.endswith("q_proj")
            heads = config.num_attention_heads if is_query else config.num_key_value_heads
            array = neighbours(array, heads)
        if kind == "gemma2" and "norm" in part:
            array = array + 1
        layer = ""
        if part.startswith("layers."):
            _, number, part = part.split(".", 2)
            layer = f"blk.{number}."
        table = GEMMA_NAMES if kind == "gemma2" else NAMES
        found[f"{layer}{table[part]}.{suffix}"] = array
    return found


def write_gguf(
    path: Path,
    model: Any,
    types: Mapping[str, str] | None = None,
    tensors: Mapping[str, np.ndarray] | None = None,
    metadata: Mapping[str, Any] | None = None,
    blocks: Mapping[str, tuple[np.ndarray, str]] | None = None,
) -> Path:
    """Writes a model.

    Args:
        path: The file.
        model: Of transformers.
        types: Formats by the ends of names; float32 for others.
        tensors: The tensors; those of the model by default.
        metadata: Keys that replace those of the model; None leaves one out.
        blocks: Tensors that are blocks already, uint8, with their format.
    """
    import gguf

    config = model.config
    kind = config.model_type
    values: dict[str, Any] = {
        f"{kind}.context_length": config.max_position_embeddings,
        f"{kind}.embedding_length": config.hidden_size,
        f"{kind}.block_count": config.num_hidden_layers,
        f"{kind}.feed_forward_length": config.intermediate_size,
        f"{kind}.attention.head_count": config.num_attention_heads,
        f"{kind}.attention.head_count_kv": config.num_key_value_heads,
        f"{kind}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        f"{kind}.rope.freq_base": float(config.rope_parameters["rope_theta"]),
        "tokenizer.ggml.eos_token_id": 2,
        **(metadata or {}),
    }
    if getattr(config, "head_dim", None):
        values[f"{kind}.attention.key_length"] = config.head_dim
    if kind == "gemma2":
        values[f"{kind}.attention.sliding_window"] = config.sliding_window
        values[f"{kind}.attn_logit_softcapping"] = config.attn_logit_softcapping
        values[f"{kind}.final_logit_softcapping"] = config.final_logit_softcapping
    writer = gguf.GGUFWriter(path, kind)
    for key, value in values.items():
        if isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif value is not None:
            writer.add_uint32(key, value)
    for name, array in (gguf_tensors(model) if tensors is None else tensors).items():
        wanted = next((t for end, t in (types or {}).items() if name.endswith(end)), "F32")
        if name in (blocks or {}):
            data, kind_of_blocks = (blocks or {})[name]
            writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[kind_of_blocks])
        elif wanted == "F32":
            writer.add_tensor(name, np.ascontiguousarray(array))
        else:
            number = gguf.GGMLQuantizationType[wanted]
            writer.add_tensor(name, gguf.quants.quantize(array, number), raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
