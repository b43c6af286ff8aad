# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models: from a checkpoint to a module with weights.

checkpoint = open_checkpoint("smollm2")
params = kv_params(checkpoint.config)
model = build_model(checkpoint.config, kv_params=params)
graph = build_graph(checkpoint.config, model, params)
runnable = session.load(graph, weights_registry=checkpoint.state_dict())
"""

from __future__ import annotations

from kvern.models.architecture import Architecture, Build
from kvern.models.checkpoint import NAMED_MODELS, Checkpoint, StoredTensor, open_checkpoint
from kvern.models.config import LatentConfig, ModelConfig, RopeConfig
from kvern.models.decoder import ARCHITECTURES, build_graph, build_model, kv_params

__all__ = [
    "ARCHITECTURES",
    "NAMED_MODELS",
    "Architecture",
    "Build",
    "Checkpoint",
    "LatentConfig",
    "ModelConfig",
    "RopeConfig",
    "StoredTensor",
    "build_graph",
    "build_model",
    "kv_params",
    "open_checkpoint",
]
