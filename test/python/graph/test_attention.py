# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over lengths, head sizes, groups and targets; threads; what is refused, and where."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, run, session
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.errors import ExecutionError, GraphError
from kvern.graph import Graph, ops
from kvern.graph._compile import compile_graph_module
from kvern.graph._mlir import bindings
from kvern.nn.attention import AttentionMaskVariant
from kvern.tools import find_tool
from op_cases.attention import qkv, ragged_reference, reference
from tolerances import assert_close

F32 = DType.float32
# Heads of q, of k and v, sizes of a key and of a value.
LAYOUTS = [(2, 2, 16, 16), (6, 2, 40, 24), (4, 1, 64, 64), (3, 3, 80, 128), (2, 1, 128, 33)]
# Around the ends of register tiles, of blocks of 96 rows and 128 keys, of the 16 rows up to which keys are
# streamed, of blocks of 64 and chunks of 256 keys.
QUERIES = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 31, 33, 47, 48, 49, 70, 95, 96, 97, 193]
KEYS = [0, 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 70, 127, 128, 129, 255, 256, 257, 530]
VARIANTS = [
    ("null", -1),
    ("causal", -1),
    ("sliding_window_causal", 20),
    ("sliding_window_noncausal", 1),
    ("chunked_causal", 33),
]


def build(
    layout: tuple[int, int, int, int], dtype: DType = F32, variant: str = "null", window: int = -1
) -> Graph:
    heads, kv_heads, size, value_size = layout
    types = [
        cpu_tensor(dtype, ["b", "n", heads, size]),
        cpu_tensor(dtype, ["b", "m", kv_heads, size]),
        cpu_tensor(dtype, ["b", "m", kv_heads, value_size]),
    ]
    with Graph("attention", input_types=types) as graph:
        operands = [value.tensor for value in graph.inputs]
        options: dict[str, Any] = {"mask_variant": variant, "local_window_size": window}
        graph.output(ops.attention(*operands, **options))
    return graph


@functools.cache
def model_of(layout: tuple[int, int, int, int], variant: str, window: int) -> Any:
    return session().load(build(layout, F32, variant, window))


def lengths(seed: int) -> list[tuple[int, int]]:
    """Every number of queries and of keys at least once, in random pairs."""
    rng = np.random.default_rng(seed)
    queries, keys = rng.permutation(QUERIES), rng.permutation(KEYS)
    pairs = [(int(n), int(keys[i % len(keys)])) for i, n in enumerate(queries)]
    return pairs + [(int(n), int(n)) for n in rng.integers(1, 70, 4)]


def check(model: Any, layout: tuple[int, int, int, int], n: int, m: int, **options: Any) -> None:
    arrays = qkv(F32, 1 + n % 2, n, m, layout[:2], layout[2:])
    q, k, v = (array.astype(np.float64) for array in arrays)
    (got,) = run(model, arrays)
    assert_close(got, reference(q, k, v, **options))


@pytest.mark.parametrize(("variant", "window"), VARIANTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths(layout: tuple[int, int, int, int], variant: str, window: int) -> None:
    model = model_of(layout, variant, window)
    for n, m in lengths(len(variant) + sum(layout)):
        check(model, layout, n, m, variant=variant, window=window)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("layout", [(6, 2, 40, 24), (2, 2, 33, 17)])
def test_narrow_registers(layout: tuple[int, int, int, int], cpu: str, tmp_path: Path) -> None:
    path = tmp_path / "attention.kvx"
    data, _ = compile_graph_module(build(layout, F32, "causal"), {"cpu": cpu})
    path.write_bytes(data)
    model = session().load(path)
    for n, m in lengths(len(cpu))[::3]:
        check(model, layout, n, m, variant="causal")


@pytest.mark.parametrize(("variant", "window"), VARIANTS)
def test_the_definition(variant: str, window: int, tmp_path: Path) -> None:
    """What kvern-decompose-attention makes of the op computes the same."""
    mlir = bindings()
    layout = (6, 2, 40, 24)
    command = [find_tool("kvern-opt"), "--kvern-decompose-attention", "-"]
    text = str(build(layout, F32, variant, window))
    plain = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert "kvern.attention" in text and "kvern.attention" not in plain
    with mlir.context:
        module = mlir.ir.Module.parse(plain)
        data, _ = mlir.ext.compile(module.operation, version="", use_cache=False)
    path = tmp_path / "definition.kvx"
    path.write_bytes(data)
    model = session().load(path)
    for n, m in [(1, 1), (7, 40), (70, 33)]:
        check(model, layout, n, m, variant=variant, window=window)


def test_threads_change_nothing() -> None:
    graph = build((8, 2, 64, 64), F32, "causal")
    one, two = (InferenceSession(num_threads=count).load(graph) for count in (1, 2))
    for n, m in [(1, 1500), (2, 700), (300, 300)]:
        arrays = qkv(F32, 2, n, m, (8, 2), (64, 64))
        np.testing.assert_array_equal(run(one, arrays)[0], run(two, arrays)[0])


def test_offsets_out_of_order_stay_in_bounds() -> None:
    types = [cpu_tensor(F32, [rows, 2, 16]) for rows in ("t", "u", "u")]
    types += [cpu_tensor(DType.int64, ["o"])] * 2
    with Graph("ragged", input_types=types) as graph:
        q, k, v, rows, keys = (value.tensor for value in graph.inputs)
        graph.output(ops.ragged_attention(q, k, v, rows, keys))
    model = session().load(graph)
    arrays = [array[0] for array in qkv(F32, 1, 40, 40, (2, 2), (16, 16))]
    wild = np.array([-5, 30, 10, 2**40], np.int64)
    (got,) = run(model, [*arrays, wild, wild])
    assert np.isfinite(got).all()
    tame = np.array([3, 3, 20, 35], np.int64)
    (got,) = run(model, [*arrays, tame, tame])
    q, k, v = (array.astype(np.float64) for array in arrays)
    assert_close(got, ragged_reference(q, k, v, tame, tame, variant="causal"))


def _refused(fn: Any, *types: Any) -> str:
    """The message, which begins with the line of the test that staged the op."""
    with Graph("refused", input_types=list(types)) as graph:
        with pytest.raises(GraphError) as error:
            fn(*(value.tensor for value in graph.inputs))
        graph.output()
    assert str(error.value).startswith(f"{__file__}:")
    return str(error.value)


def test_errors() -> None:
    q, k = cpu_tensor(F32, ["b", "n", 6, 16]), cpu_tensor(F32, ["b", "m", 4, 16])
    text = _refused(lambda q, k: ops.attention(q, k, k), q, k)
    assert (
        "attention: expected the number of heads of q to be a multiple of that of k and v (4), but got 6"
        in text
    )
    text = _refused(lambda q: ops.attention(q, q, q, mask_variant="alibi"), q)
    assert "but got 'alibi'" in text
    text = _refused(
        lambda q: ops.attention(q, q, q, mask_variant=AttentionMaskVariant.TENSOR_MASK), q
    )
    assert "but got 'tensor_mask'" in text
    text = _refused(lambda q: ops.attention(q, q, q, mask_variant=None), q)  # pyright: ignore[reportArgumentType]
    assert "expected mask_variant to be a string, but got None" in text
    text = _refused(lambda q: ops.attention(q, q, q, mask_variant="chunked_causal"), q)
    assert "expected window to be above 0" in text
    text = _refused(lambda q: ops.attention(q, q, q), cpu_tensor(F32, ["b", "n", 6, "d"]))
    assert "expected q with a static last size" in text
    text = _refused(lambda q: ops.rope(q, q), q)
    assert "expected a table of shape [rows, width], but got [b, n, 6, 16]" in text


def test_positions_outside_of_the_table_end_the_run() -> None:
    types = [cpu_tensor(F32, ["n", 2, 8]), cpu_tensor(F32, ["r", 8])]
    with Graph("rope", input_types=types) as graph:
        x, table = (value.tensor for value in graph.inputs)
        graph.output(ops.rope(x, table))
    model = session().load(graph)
    run(model, [np.zeros((5, 2, 8), np.float32), np.zeros((5, 8), np.float32)])
    with pytest.raises(ExecutionError, match="the table to have a row for each position"):
        run(model, [np.zeros((5, 2, 8), np.float32), np.zeros((4, 8), np.float32)])
