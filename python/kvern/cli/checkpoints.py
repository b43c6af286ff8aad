# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints as commands see them: facts, tensors, and the graph of the model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvern.cli.dtypes import dtype_of
from kvern.driver import Buffer
from kvern.dtype import DType

if TYPE_CHECKING:
    from kvern.graph import Graph
    from kvern.models import Checkpoint, ModelConfig

__all__ = ["StoredAs", "facts_of", "graph_of", "safetensors_of", "tensors_of"]


@dataclass(frozen=True)
class StoredAs:
    """A tensor of a file.

    Attributes:
        name: Its name.
        kind: Element type, or format of its blocks.
        shape: Its sizes.
        bytes: What it takes in the file.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers it stands for."""
        return math.prod(self.shape)


def safetensors_of(path: str) -> list[StoredAs]:
    """Returns what is stored in a file that says nothing of its model.

    Raises:
        OSError: There is no such file.
        ValueError: It is damaged.
    """
    from kvern.graph.weights import load_weights

    found = []
    for name, weight in load_weights([path]).items():
        shape = tuple(int(size) for size in weight.shape)
        size = math.prod(shape) * weight.dtype.size_in_bytes
        found.append(StoredAs(name, weight.dtype.name, shape, size))
    return found


def tensors_of(checkpoint: Checkpoint) -> list[StoredAs]:
    """Returns what is stored in a checkpoint, in its order."""
    return [
        StoredAs(name, tensor.type, tensor.shape, _bytes_of(tensor.load()))
        for name, tensor in checkpoint.tensors.items()
    ]


def facts_of(checkpoint: Checkpoint) -> Mapping[str, Any]:
    """Returns what is known of the model."""
    facts: dict[str, Any] = {"file": str(checkpoint.path)}
    for field in dataclasses.fields(checkpoint.config):
        value = getattr(checkpoint.config, field.name)
        is_default = field.default is not dataclasses.MISSING and value == field.default
        if isinstance(value, tuple) and not any(value):
            continue
        if field.name != "encodings" and not is_default:
            facts[field.name] = value.name if isinstance(value, DType) else value
    facts["chat template"] = "yes" if checkpoint.chat_template else "no"
    return facts


def graph_of(config: ModelConfig, dtype: str | None = None) -> Graph:
    """Returns the graph that `kvern generate` runs.

    Args:
        config: Of a checkpoint.
        dtype: Element type of weights and activations; None or "stored" for the weights as they are stored.
    """
    from kvern import models

    params = models.kv_params(config, dtype=dtype_of(dtype))
    return models.build_graph(
        config, models.build_model(config, dtype=dtype_of(dtype), kv_params=params), params
    )


def _bytes_of(array: Any) -> int:
    buffer = Buffer.from_dlpack(array)
    return buffer.num_elements * buffer.dtype.size_in_bytes
