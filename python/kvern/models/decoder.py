# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a configuration to a module, its cache and its graph."""

from __future__ import annotations

from typing import Any

from kvern import nn
from kvern.dtype import DType
from kvern.errors import DTypeError, UnsupportedError
from kvern.graph import DeviceRef, Graph, Module, TensorType
from kvern.graph.quantization import QuantizationEncoding
from kvern.models.architecture import Architecture, Build
from kvern.models.config import ModelConfig
from kvern.models.deepseek import DEEPSEEK_V2
from kvern.models.gemma import GEMMA2
from kvern.models.layers import norm, rotary_embedding
from kvern.models.llama import LLAMA
from kvern.models.mistral import MISTRAL
from kvern.models.qwen2 import QWEN2
from kvern.models.qwen3 import QWEN3
from kvern.nn.kv_cache import KVCacheParams, MHAKVCacheParams, MLAKVCacheParams

__all__ = ["ARCHITECTURES", "build_graph", "build_model", "compute_dtype", "kv_params"]

# By name.
ARCHITECTURES: dict[str, Architecture] = {
    each.name: each for each in (LLAMA, QWEN2, QWEN3, MISTRAL, GEMMA2, DEEPSEEK_V2)
}
_FLOATS = (DType.float32, DType.bfloat16, DType.float16)
# Formats that products read; the table of an embedding may have more.
_PRODUCTS = (QuantizationEncoding.Q8_0, QuantizationEncoding.Q4_0, QuantizationEncoding.Q4_1)
_TABLES = (*_PRODUCTS, QuantizationEncoding.Q4_K, QuantizationEncoding.Q6_K)


def compute_dtype(config: ModelConfig, dtype: DType | str | None) -> DType:
    """Returns the element type of activations, and of weights that are not quantized.

    Args:
        config: Of the model.
        dtype: What is asked for: a DType, its name, or None for that of the checkpoint.

    Raises:
        TypeError: It is no floating type that models run in.
    """
    found = config.dtype if dtype is None else dtype
    names = {each.name: each for each in _FLOATS}
    found = names.get(found, found) if isinstance(found, str) else found
    if found not in _FLOATS:
        raise DTypeError(f"expected a dtype of {', '.join(names)} or None, but got {found}")
    return found


def kv_params(
    config: ModelConfig,
    *,
    dtype: DType | str | None = None,
    cache_dtype: DType | None = None,
    page_size: int = 128,
    enable_prefix_caching: bool = False,
    device: DeviceRef | None = None,
    **options: Any,
) -> MHAKVCacheParams | MLAKVCacheParams:
    """Returns the parameters of the cache of a model.

    Args:
        config: Of the model.
        dtype: Element type that the model runs in; see `build_model`.
        cache_dtype: Element type of the pages; that of the model by default.
        page_size: Tokens of a page.
        enable_prefix_caching: Whether prompts that begin alike share pages.
        device: Where the cache lives; the CPU by default.
        **options: More parameters of `KVCacheParams`, such as `kvcache_quant_config`.

    Raises:
        TypeError: An element type is not supported.
        ValueError: A parameter is not supported.
    """
    common: dict[str, Any] = {
        "dtype": cache_dtype or compute_dtype(config, dtype),
        "num_layers": config.num_layers,
        "devices": [device or DeviceRef.CPU()],
        "page_size": page_size,
        "enable_prefix_caching": enable_prefix_caching,
        **options,
    }
    if config.latent is None:
        return MHAKVCacheParams(head_dim=config.head_dim, n_kv_heads=config.num_kv_heads, **common)
    width = config.latent.kv_lora_rank + config.latent.qk_rope_head_dim
    return MLAKVCacheParams(head_dim=width, num_q_heads=config.num_heads, **common)


def build_model(
    config: ModelConfig,
    *,
    dtype: DType | str | None = None,
    device: DeviceRef | None = None,
    kv_params: KVCacheParams,
    return_logits: nn.ReturnLogits | None = None,
) -> nn.Transformer:
    """Builds the module of a model. Its weights have their full names; they have no values.

    Args:
        config: Of the model.
        dtype: Element type of weights and activations. None for the weights as they are stored: quantized ones stay
            in blocks, which the products read.
        device: Where the model computes; the CPU by default.
        kv_params: Of its cache; see `kv_params`.
        return_logits: Which logits it returns; those of the last tokens by default.

    Raises:
        NotImplementedError: Weights are stored in a format that products do not read, and dtype is None.
        TypeError: The dtype is not supported.
    """
    place = device or DeviceRef.CPU()
    made = compute_dtype(config, dtype)
    build = Build(config, made, place, kv_params, rotary_embedding(config))
    block = ARCHITECTURES[config.architecture].block
    embedding = nn.Embedding(config.vocab_size, config.hidden_size, made, place)
    output = nn.Linear(config.hidden_size, config.vocab_size, made, place)
    if config.tie_word_embeddings:
        output.set_shared_weight("weight", embedding.weight)
    model = nn.Transformer(
        config.hidden_size,
        config.num_heads,
        [block(build, layer) for layer in range(config.num_layers)],
        norm(build),
        output,
        embedding,
        kv_params,
        build.rope,
        return_logits=return_logits or nn.ReturnLogits.LAST_TOKEN,
        embedding_multiplier=config.embedding_multiplier,
        logits_soft_cap=config.logit_softcap,
    )
    weights = model.raw_state_dict()
    for name, weight in weights.items():
        weight.name = name
    if dtype is None:
        _store_in_blocks(config, weights)
    return model


def _store_in_blocks(config: ModelConfig, weights: dict[str, Any]) -> None:
    """Declares weights as the blocks that the checkpoint has."""
    unread: dict[str, list[str]] = {}
    for name, encoding in config.encodings.items():
        is_table = name == "embed_tokens.weight" and not config.tie_word_embeddings
        known = _TABLES if is_table else _PRODUCTS
        if not isinstance(encoding, QuantizationEncoding) or encoding not in known:
            unread.setdefault(getattr(encoding, "value", str(encoding)), []).append(name)
            continue
        weight = weights.get(name)
        if weight is None:
            continue
        rows, columns = map(int, weight.shape)
        weight.dtype = DType.uint8
        weight.shape = [rows, columns // encoding.elements_per_block * encoding.block_size]
        weight.quantization_encoding = encoding
    if unread:
        listed = "; ".join(
            f"{kind} ({len(names)} weights, such as {names[0]})" for kind, names in unread.items()
        )
        raise UnsupportedError(
            f"expected quantized weights in {', '.join(each.value for each in _PRODUCTS)}, which products read, but "
            f"got {listed}; a dtype, such as bfloat16, makes numbers of them when they are loaded"
        )


def build_graph(
    config: ModelConfig,
    model: nn.Transformer,
    kv_params: KVCacheParams,
    *,
    name: str | None = None,
    module: Module | None = None,
) -> Graph:
    """Stages a model into a graph, which serves every batch and every length.

    Its inputs: tokens, int64 `[total_seq_len]`; input_row_offsets, uint32 `[input_row_offsets_len]`, of B + 1; how
    many logits of each sequence to return, int64 `[1]`; those of the cache, as `KVCacheInputs.flatten` orders them. Its
    outputs are those of the model: first the logits of the last tokens, float32 `[B, vocab_size]`.

    Args:
        config: Of the model.
        model: From `build_model`.
        kv_params: Those that the model was built with.
        name: Name of the graph; the architecture by default.
        module: What the graph is added to, to compile several into one executable.
    """
    device = DeviceRef.from_device(kv_params.devices[0])
    cache = kv_params.get_symbolic_inputs()
    types = [
        TensorType(DType.int64, ["total_seq_len"], device),
        TensorType(DType.uint32, ["input_row_offsets_len"], device),
        TensorType(DType.int64, [1], DeviceRef.CPU()),
        *cache.flatten(),
    ]
    with Graph(name or config.architecture, input_types=types, module=module) as graph:
        tokens, offsets, count, *leaves = graph.inputs
        values = cache.unflatten(iter(leaves)).inputs[0]
        graph.output(*model(tokens.tensor, values, count.tensor, offsets.tensor))
    return graph
