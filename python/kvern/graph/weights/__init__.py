# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights from checkpoint files."""

from __future__ import annotations

from kvern.graph.weights.format import WeightsFormat, load_weights, weights_format
from kvern.graph.weights.gguf_file import GGUFWeights
from kvern.graph.weights.safetensors_file import SafetensorWeights
from kvern.graph.weights.weights import WeightData, Weights, WeightsAdapter

__all__ = [
    "GGUFWeights",
    "SafetensorWeights",
    "WeightData",
    "Weights",
    "WeightsAdapter",
    "WeightsFormat",
    "load_weights",
    "weights_format",
]
