# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which format a checkpoint has."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from pathlib import Path

from kvern.errors import WeightError
from kvern.graph._source import located
from kvern.graph.weights.gguf_file import GGUFWeights
from kvern.graph.weights.safetensors_file import SafetensorWeights
from kvern.graph.weights.weights import CheckpointWeights

__all__ = ["WeightsFormat", "load_weights", "weights_format"]

_Path = str | os.PathLike[str]


class WeightsFormat(str, enum.Enum):
    """A file format of checkpoints."""

    gguf = "gguf"
    safetensors = "safetensors"


def weights_format(paths: Sequence[_Path]) -> WeightsFormat:
    """Returns the format of files, by their extension.

    Raises:
        ValueError: There is no path, an unknown extension, or more than one.
    """
    suffixes = sorted({Path(path).suffix for path in paths})
    if suffixes == [".safetensors"]:
        return WeightsFormat.safetensors
    if suffixes == [".gguf"]:
        return WeightsFormat.gguf
    raise located(
        WeightError,
        "weights_format",
        f"expected paths that all end in .safetensors or all in .gguf, but got {suffixes}",
    )


def load_weights(paths: Sequence[_Path]) -> CheckpointWeights:
    """Opens a checkpoint.

    Args:
        paths: One `.gguf` file, or one or more `.safetensors` files.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A file is damaged, or the paths are not of one format.
    """
    if weights_format(paths) is WeightsFormat.safetensors:
        return SafetensorWeights(paths)
    if len(paths) != 1:
        raise located(WeightError, "load_weights", f"expected one GGUF file, but got {len(paths)}")
    return GGUFWeights(paths[0])
