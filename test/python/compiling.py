# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles many small graphs into one executable, and runs them on NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import BufferType, DeviceRef, Graph, Module, TensorType

Builder = Callable[[str, Module], Any]


@functools.cache
def session() -> InferenceSession:
    return InferenceSession()


def compile_graphs(builders: Mapping[str, Builder]) -> dict[str, Any]:
    """Returns a model for each builder, or the exception that stopped it.

    Each builder gets a name and the Module to make its graph in. All graphs share one executable; when that
    fails, they are compiled one by one to find the culprits.
    """
    try:
        return _load(builders)
    except Exception:
        models: dict[str, Any] = {}
        for name, build in builders.items():
            try:
                models |= _load({name: build})
            except Exception as error:
                models[name] = error
        return models


def _load(builders: Mapping[str, Builder]) -> dict[str, Any]:
    module = Module()
    for name, build in builders.items():
        build(name, module)
    return session().load_all(module)


def run(model: Any, arrays: Sequence[Any]) -> list[np.ndarray]:
    """Returns the outputs of a model as arrays, those of ml_dtypes where NumPy has no dtype."""
    if isinstance(model, Exception):
        raise model
    return [to_array(output) for output in model.execute(*arrays)]


def to_array(output: Any) -> np.ndarray:
    return np.asarray(output.to_numpy())


def cpu_tensor(dtype: DType, shape: Sequence[Any]) -> TensorType:
    return TensorType(dtype, shape, DeviceRef.CPU())


def cpu_buffer(dtype: DType, shape: Sequence[Any]) -> BufferType:
    return BufferType(dtype, shape, DeviceRef.CPU())


def evaluate(
    fn: Callable[..., Any],
    *arrays: np.ndarray,
    shapes: Sequence[Sequence[Any]] | None = None,
    weights: Mapping[str, Any] | None = None,
) -> list[np.ndarray]:
    """Compiles `fn` for the dtypes and shapes of the arrays and runs it on them."""
    shapes = shapes or [array.shape for array in arrays]
    types = [cpu_tensor(DType.from_numpy(a.dtype), s) for a, s in zip(arrays, shapes, strict=True)]
    with Graph("evaluate", input_types=types) as graph:
        outputs = fn(*(value.tensor for value in graph.inputs))
        graph.output(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    return run(session().load(graph, weights_registry=dict(weights or {})), arrays)
