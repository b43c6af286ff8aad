# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Directories as Hugging Face's transformers writes them: config.json and safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError, UnsupportedError
from kvern.graph.weights import SafetensorWeights
from kvern.models.architecture import Architecture
from kvern.models.config import ModelConfig, RopeConfig
from kvern.models.fields import MOST_LAYERS, MOST_POSITIONS, Fields

__all__ = [
    "activation",
    "chat_template",
    "file_name",
    "our_name",
    "read_config",
    "read_json",
    "weight_files",
    "windows",
]

_DTYPES = {
    "float32": DType.float32,
    "bfloat16": DType.bfloat16,
    "float16": DType.float16,
    "float64": DType.float32,
}
_ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
}
_ROPE = {"default": "none", "linear": "linear", "llama3": "llama3", "yarn": "yarn"}
# A file with more than that is no description of a model.
_MOST_BYTES = 64 * 2**20


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object of a JSON file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It holds no object.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"expected JSON in {path}, but got a file of {path.stat().st_size} bytes")
    try:
        value = json.loads(path.read_bytes())
    # UnicodeDecodeError and JSONDecodeError are ValueErrors.
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected JSON in {path}, but got: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"expected an object in {path}, but got {type(value).__name__}")
    return value


def weight_files(folder: Path) -> list[Path]:
    """Returns the safetensors files of a directory: one, or those that its index names.

    Raises:
        FileNotFoundError: There are none, or not all of the index.
        ValueError: The index is damaged.
    """
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if not index.is_file():
        raise FileNotFoundError(
            f"expected {single.name} or {index.name} in {folder}, but there is neither; weights in other formats "
            "are not read"
        )
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise InputError(f"expected a weight_map of names to files in {index}")
    names = sorted({str(name) for name in places.values()})
    strange = [name for name in names if Path(name).name != name]
    if strange:
        raise InputError(f"expected names of files in {index}, but got {strange[0]!r}")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{index} names files that are missing: {', '.join(missing)}")
    return [folder / name for name in names]


def our_name(name: str) -> str | None:
    """Returns the name in our module of a tensor; None for one that models compute themselves."""
    if name.endswith(".rotary_emb.inv_freq"):
        return None
    return name.removeprefix("model.")


def file_name(name: str) -> str:
    """Returns the name of a tensor in the files."""
    return name if name.startswith("lm_head.") else f"model.{name}"


def read_config(
    folder: Path, weights: SafetensorWeights, architectures: dict[str, Architecture]
) -> ModelConfig:
    """Reads config.json and generation_config.json.

    Args:
        folder: The directory.
        weights: Its tensors.
        architectures: By name.

    Raises:
        FileNotFoundError: There is no config.json.
        ValueError: Values are missing or wrong; all are listed.
        NotImplementedError: The architecture, or something that the model needs, is not supported.
    """
    path = folder / "config.json"
    f = Fields(read_json(path), str(path))
    known = {kind: each for each in architectures.values() for kind in each.huggingface}
    kind = f.get("model_type")
    if not isinstance(kind, str) or kind not in known:
        raise UnsupportedError(
            f"expected model_type in {path} to be one of {', '.join(sorted(known))}, but got {kind!r}"
        )
    if f.get("quantization_config") is not None:
        raise UnsupportedError(
            f"expected weights of numbers in {folder}, but config.json has a quantization_config; quantized weights "
            "are read from GGUF files"
        )
    hidden, heads = f.integer("hidden_size"), f.integer("num_attention_heads")
    own_head_dim = f.get("head_dim") is None
    if own_head_dim and hidden % heads:
        f.problems.append(
            f"hidden_size: expected a multiple of the {heads} heads, as there is no head_dim, but got {hidden}"
        )
    common: dict[str, Any] = {
        "hidden_size": hidden,
        "intermediate_size": f.integer("intermediate_size"),
        "num_layers": f.integer("num_hidden_layers", most=MOST_LAYERS),
        "num_heads": heads,
        "num_kv_heads": f.integer("num_key_value_heads", heads),
        "head_dim": f.integer("head_dim", max(1, hidden // heads)),
        "vocab_size": f.integer("vocab_size"),
        "max_seq_len": f.integer("max_position_embeddings", most=MOST_POSITIONS),
        "rms_norm_eps": f.number("rms_norm_eps", 1e-6),
        "rope": _rope(f, known[kind].huggingface_interleaved),
        "activation": activation(f, "hidden_act", "silu"),
        "tie_word_embeddings": f.flag("tie_word_embeddings", False),
        "bos_token_id": next(iter(f.ids("bos_token_id")), None),
        "eos_token_ids": _eos_tokens(folder, f),
    }
    architecture = known[kind]
    own = architecture.from_huggingface(f)
    dtype = _dtype(f, weights)
    f.check()
    return ModelConfig(architecture=architecture.name, dtype=dtype, **{**common, **own})


def windows(f: Fields, usual: list[bool]) -> tuple[int | None, ...]:
    """The windows of the layers.

    Args:
        f: The configuration.
        usual: Which layers have one when `layer_types` does not say.
    """
    width = f.integer("sliding_window", None)
    kinds = f.get("layer_types")
    has_window = usual
    if kinds is not None:
        known = ("full_attention", "sliding_attention")
        if not isinstance(kinds, list) or any(kind not in known for kind in kinds):
            f.problems.append(f"layer_types: expected a list of {' and '.join(known)}")
            kinds = []
        has_window = [kind == "sliding_attention" for kind in kinds]
    if any(has_window) and width is None:
        f.problems.append("sliding_window: missing")
    return tuple(width if each else None for each in has_window)


def activation(f: Fields, key: str, default: str) -> str:
    """An activation function by the name that transformers has for it."""
    return f.choice(key, _ACTIVATIONS, default)


def _rope(f: Fields, interleaved: bool) -> RopeConfig:
    """The rotary embeddings: in `rope_parameters`, or (older files) in `rope_theta` and `rope_scaling`."""
    old = f.get("rope_scaling", {})
    nested = f.get("rope_parameters", old)
    if not isinstance(nested, dict):
        f.problems.append(f"rope_parameters: expected an object, but got {nested!r}")
        nested = {}
    values = {**nested}
    values.setdefault("rope_theta", f.get("rope_theta"))
    values.setdefault("rope_type", nested.get("type", "default"))
    r = Fields(values, f.source)
    kind = values["rope_type"]
    if not isinstance(kind, str) or kind not in _ROPE:
        raise UnsupportedError(
            f"expected rope_type in {f.source} to be one of {', '.join(_ROPE)}, but got {kind!r}"
        )
    if f.get("partial_rotary_factor", values.get("partial_rotary_factor") or 1.0) != 1.0:
        raise UnsupportedError(
            f"expected partial_rotary_factor 1 in {f.source}: whole heads are rotated"
        )
    own: dict[str, Any] = {}
    if kind != "default":
        own["factor"] = r.number("factor")
    if kind == "llama3":
        own["low_freq_factor"] = r.number("low_freq_factor")
        own["high_freq_factor"] = r.number("high_freq_factor")
    if kind in ("llama3", "yarn"):
        own["original_max_position"] = r.integer("original_max_position_embeddings")
    if kind == "yarn":
        own |= _yarn(r)
    theta = r.number("rope_theta", 10000.0)
    f.problems += r.problems
    return RopeConfig(theta, interleaved, scaling=_ROPE[kind], **own)


def _yarn(r: Fields) -> dict[str, Any]:
    if r.get("attention_factor") is not None:
        raise UnsupportedError(
            f"expected a rope of yarn without attention_factor in {r.source}, but got {r.get('attention_factor')!r}"
        )
    if bool(r.get("mscale")) != bool(r.get("mscale_all_dim")):
        r.problems.append("mscale, mscale_all_dim: expected both or neither")
    return {
        "beta_fast": r.number("beta_fast", 32.0),
        "beta_slow": r.number("beta_slow", 1.0),
        "truncate": r.flag("truncate", True),
        "mscale": r.number("mscale", 1.0),
        "mscale_all_dim": r.number("mscale_all_dim", 0.0),
    }


def _eos_tokens(folder: Path, f: Fields) -> tuple[int, ...]:
    path = folder / "generation_config.json"
    found = f.ids("eos_token_id")
    if path.is_file():
        more = Fields(read_json(path), str(path))
        found = (*found, *more.ids("eos_token_id"))
        f.problems += more.problems
    return tuple(dict.fromkeys(found))


def _dtype(f: Fields, weights: SafetensorWeights) -> DType:
    """The element type that the file says, else that of the embedding."""
    named = f.get("dtype", f.get("torch_dtype"))
    if named is not None:
        key = "dtype" if f.get("dtype") is not None else "torch_dtype"
        return f.choice(key, _DTYPES)
    stored = {name: each.dtype for name, each in weights.items()}
    found = stored.get("model.embed_tokens.weight", stored.get("embed_tokens.weight"))
    return _DTYPES.get(found.name if found else "", DType.float32)


def chat_template(folder: Path) -> str | None:
    """Returns the template of conversations: of chat_template.jinja, else of tokenizer_config.json.

    Raises:
        ValueError: A file is damaged.
    """
    template, tokenizer = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if template.is_file():
        return template.read_text(encoding="utf-8")
    value = read_json(tokenizer).get("chat_template") if tokenizer.is_file() else None
    if isinstance(value, list):
        value = next(
            (each.get("template") for each in value if each.get("name") == "default"), None
        )
    return value if isinstance(value, str) else None
