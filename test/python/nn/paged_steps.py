# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs layers on ragged batches over a paged cache, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from compiling import cpu_tensor, run
from kvern import nn
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, Module, TensorValue
from kvern.nn.kv_cache import KVCacheParams, MHAKVCacheParams, PagedCacheValues

CPU = DeviceRef.CPU()
# New tokens of three sequences: a prompt, two more chunks of it, and single tokens; a page has 4 tokens.
STEPS = ((5, 1, 9), (3, 4, 2), (6, 2, 1), (1, 1, 1), (1, 1, 1))
PAGE, PAGES = 4, 24


def cache_params(**options: Any) -> MHAKVCacheParams:
    """A cache of two layers, with two heads of 8 elements."""
    given: dict[str, Any] = {
        "dtype": DType.float32,
        "head_dim": 8,
        "n_kv_heads": 2,
        "num_layers": 2,
    }
    return MHAKVCacheParams(devices=[CPU], page_size=PAGE, **(given | options))


def build(
    name: str,
    module: Module,
    params: KVCacheParams,
    inputs: Sequence[Any],
    body: Callable[..., Any],
) -> Graph:
    """Builds a graph of `body(inputs..., input_row_offsets, cache)`."""
    cache = params.get_symbolic_inputs()
    types = [*inputs, cpu_tensor(DType.uint32, ["input_row_offsets_len"]), *cache.flatten()]
    with Graph(name, input_types=types, module=module) as graph:
        *values, offsets = (value.tensor for value in graph.inputs[: len(inputs) + 1])
        paged: PagedCacheValues = cache.unflatten(iter(graph.inputs[len(inputs) + 1 :])).inputs[0]
        result = body(*values, offsets, paged)
        graph.output(*([result] if isinstance(result, TensorValue) else result))
    return graph


def run_steps(
    model: Any,
    params: KVCacheParams,
    feed: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    steps: Sequence[Sequence[int]] = STEPS,
) -> list[list[np.ndarray]]:
    """Returns the outputs of each step.

    Args:
        model: Made by `build`.
        params: Of its cache.
        feed: Gives the inputs of a step from the positions of the new tokens of each sequence.
        steps: New tokens of each sequence.
    """
    rng = np.random.default_rng(3)
    config, groups = params.kvcache_quant_config, params.scales_shape_per_block
    scales = [Buffer.zeros([PAGES, *groups], config.scale_dtype)] if config and groups else []
    blocks = Buffer.zeros([PAGES, *params.shape_per_block], params.dtype)
    table = rng.permutation(PAGES).reshape(len(steps[0]), -1).astype(np.uint32)
    lengths = np.zeros(len(steps[0]), np.uint32)
    outputs = []
    for counts in steps:
        offsets = np.cumsum([0, *counts]).astype(np.uint32)
        inputs = feed([np.arange(a, a + n) for a, n in zip(lengths, counts, strict=True)])
        longest = np.array([lengths.max() + max(counts)], np.uint32)
        most = np.array([max(counts)], np.uint32)
        outputs.append(
            run(model, [*inputs, offsets, blocks, lengths, table, most, longest, *scales])
        )
        lengths = lengths + np.array(counts, np.uint32)
    return outputs


def assert_steps(
    model: Any,
    params: KVCacheParams,
    sequences: Sequence[np.ndarray],
    wanted: Sequence[np.ndarray],
    atol: float,
    *constants: np.ndarray,
) -> None:
    """Compares what each step returns for its tokens with their rows of what whole sequences give.

    Args:
        model: Made by `build`: of rows of new tokens, and constants, to a row for each token.
        params: Of its cache.
        sequences: The rows of each sequence.
        wanted: What is expected for them.
        atol: The error that is accepted.
        constants: The other inputs.
    """
    done = np.zeros(len(sequences), int)

    def feed(positions: list[np.ndarray]) -> list[np.ndarray]:
        rows = [x[p] for x, p in zip(sequences, positions, strict=True)]
        return [np.concatenate(rows), *constants]

    for (got,), counts in zip(run_steps(model, params, feed), STEPS, strict=True):
        expected = [y[a : a + n] for y, a, n in zip(wanted, done, counts, strict=True)]
        np.testing.assert_allclose(
            got.astype(np.float64), np.concatenate(expected), rtol=0, atol=atol
        )
        done = done + counts


def bind(name: str, layer: nn.Module, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Loads weights, names them `<name>/...`, so that layers of one executable have their own, and returns them so."""
    layer.load_state_dict(weights)
    registry = {}
    for weight in layer.raw_state_dict().values():
        registry[f"{name}/{weight.name}"] = weights[weight.name]
        weight.name = f"{name}/{weight.name}"
    return registry
