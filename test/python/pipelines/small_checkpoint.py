# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints small enough to make in a test: random weights, a token for each byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VOCAB = 258
CONTEXT = 96
_BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
# The characters that stand for bytes in byte-level tokenizers.
LETTERS = [chr(b) for b in _BYTES] + [chr(256 + i) for i in range(256 - len(_BYTES))]
CHAT = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[assistant]"


def byte_level(pre: str = "gpt-2", merges: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """GGUF metadata of a tokenizer: a token for each byte, merges, and two special ones."""
    merges = merges or []
    tokens = [*LETTERS, *(m.replace(" ", "") for m in merges), "<s>", "</s>"]
    metadata = {
        "model": "gpt2",
        "pre": pre,
        "tokens": tokens,
        "token_type": [1] * (len(tokens) - 2) + [3, 3],
        "merges": merges,
        "bos_token_id": len(tokens) - 2,
        "eos_token_id": len(tokens) - 1,
        **more,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in metadata.items()}


def write_checkpoint(folder: Path) -> Path:
    """Writes a Llama of two layers as a Hugging Face directory; returns it."""
    from kvern.pipelines import Tokenizer
    from safetensors.numpy import save_file

    hidden, heads, kv_heads, width, feed_forward, layers = 32, 4, 2, 8, 48, 2
    random = np.random.default_rng(7)

    def weight(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    weights = {
        "model.embed_tokens.weight": weight(VOCAB, hidden) * 3,
        "model.norm.weight": np.ones(hidden, np.float32),
        "lm_head.weight": weight(VOCAB, hidden) * 3,
    }
    for i in range(layers):
        block = {
            "self_attn.q_proj": weight(heads * width, hidden),
            "self_attn.k_proj": weight(kv_heads * width, hidden),
            "self_attn.v_proj": weight(kv_heads * width, hidden),
            "self_attn.o_proj": weight(hidden, heads * width),
            "mlp.gate_proj": weight(feed_forward, hidden),
            "mlp.up_proj": weight(feed_forward, hidden),
            "mlp.down_proj": weight(hidden, feed_forward),
            "input_layernorm": np.ones(hidden, np.float32),
            "post_attention_layernorm": np.ones(hidden, np.float32),
        }
        weights |= {f"model.layers.{i}.{name}.weight": value for name, value in block.items()}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": feed_forward,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": width,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": CONTEXT,
        "vocab_size": VOCAB,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "bos_token_id": VOCAB - 2,
        "eos_token_id": VOCAB - 1,
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    Tokenizer.from_gguf(byte_level())._core.save(str(folder / "tokenizer.json"))
    named = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": CHAT}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return folder
