# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an architecture is: how its files are read, and how its module is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef
from kvern.models.config import ModelConfig
from kvern.models.fields import Fields
from kvern.nn import Module, RotaryEmbedding
from kvern.nn.kv_cache import KVCacheParams

__all__ = ["Architecture", "Build"]


@dataclass(frozen=True)
class Build:
    """What the blocks of a model are built of.

    Attributes:
        config: Of the model.
        dtype: Element type of the weights and activations.
        device: Where the model computes.
        kv_params: Of its cache.
        rope: Its rotary embeddings.
    """

    config: ModelConfig
    dtype: DType
    device: DeviceRef
    kv_params: KVCacheParams
    rope: RotaryEmbedding


@dataclass(frozen=True)
class Architecture:
    """An architecture; `kvern.models.ARCHITECTURES` lists them.

    Attributes:
        name: The name.
        block: Builds the block of a layer: `block(build, layer)`.
        huggingface: Values of `model_type` in a config.json.
        gguf: Values of `general.architecture` in a GGUF file.
        from_huggingface: Gives the fields of `ModelConfig` that not all architectures read alike, from a config.json.
        from_gguf: The same from the metadata of a GGUF file.
        huggingface_interleaved: Whether the pairs of rotary embeddings are neighbours in files of transformers.
        gguf_interleaved: Whether they are in GGUF files.
    """

    name: str
    block: Callable[[Build, int], Module]
    huggingface: tuple[str, ...]
    gguf: tuple[str, ...] = ()
    from_huggingface: Callable[[Fields], dict[str, Any]] = lambda fields: {}
    from_gguf: Callable[[Fields], dict[str, Any]] = lambda fields: {}
    huggingface_interleaved: bool = False
    gguf_interleaved: bool = False
