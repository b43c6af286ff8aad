# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights that are packed at load."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import to_array
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model
from kvern.graph import DeviceRef, Graph, Module, TensorType, Weight, ops
from tolerances import assert_close

CPU = DeviceRef.CPU()
DTYPES = [DType.float32, DType.bfloat16, DType.float16, DType.float64]
# Columns of one panel and more, up to its edge and beside it; odd and small depths.
SIZES = [(64, 64), (97, 63), (127, 129), (129, 65), (16, 257), (4097, 1), (1000, 77)]
ROWS = [1, 3, 8, 33]


def array(dtype: DType, *shape: int) -> np.ndarray:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape)
    return numbers.astype(dtype.to_ml_dtypes())


def product(got: np.ndarray, expected: np.ndarray, depth: int) -> None:
    assert_close(got, expected, scale=4 * max(1.0, depth**0.5))


def linear(name: str, module: Module, dtype: DType, columns: int, depth: int, direct: bool) -> None:
    x = TensorType(dtype, ["m", depth], device=CPU)
    with Graph(name, input_types=[x], module=module) as graph:
        shape = [depth, columns] if direct else [columns, depth]
        weight = graph.add_weight(Weight(f"{name}.w", dtype, shape, CPU))
        w = weight if direct else ops.transpose(weight, 0, 1)
        graph.output(ops.matmul(graph.inputs[0].tensor, w))


@functools.cache
def models(dtype: DType) -> tuple[dict[str, Model], dict[str, np.ndarray]]:
    module, weights = Module(), {}
    for columns, depth in SIZES:
        for direct in (False, True):
            name = f"{columns}x{depth}{direct}"
            linear(name, module, dtype, columns, depth, direct)
            shape = (depth, columns) if direct else (columns, depth)
            weights[f"{name}.w"] = array(dtype, *shape)
    return InferenceSession().load_all(module, weights_registry=dict(weights)), weights


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers(dtype: DType, size: tuple[int, int], direct: bool) -> None:
    loaded, weights = models(dtype)
    columns, depth = size
    name = f"{columns}x{depth}{direct}"
    w = weights[f"{name}.w"].astype(np.float64)
    for rows in ROWS:
        x = array(dtype, rows, depth)
        got = to_array(loaded[name](Buffer.from_dlpack(x))[0])
        product(got, x.astype(np.float64) @ (w if direct else w.T), depth)


def test_batches_and_epilogues() -> None:
    x = TensorType(DType.float32, ["b", "m", 65], device=CPU)
    with Graph("g", input_types=[x]) as graph:
        a = graph.inputs[0].tensor
        w = graph.add_weight(Weight("w", DType.float32, [200, 65], CPU))
        bias = graph.add_weight(Weight("bias", DType.float32, [200], CPU))
        graph.output(ops.relu(ops.matmul(a, ops.transpose(w, 0, 1)) + bias))
    weights = {"w": array(DType.float32, 200, 65), "bias": array(DType.float32, 200)}
    model = InferenceSession().load(graph, weights_registry=weights)
    for shape in [(1, 1, 65), (2, 7, 65), (3, 40, 65)]:
        data = array(DType.float32, *shape)
        expected = np.maximum(data.astype(np.float64) @ weights["w"].T + weights["bias"], 0)
        product(to_array(model(data)[0]), expected, 65)


def tied() -> tuple[Graph, np.ndarray]:
    ids = TensorType(DType.int64, ["m"], device=CPU)
    with Graph("tied", input_types=[ids]) as graph:
        table = graph.add_weight(Weight("table", DType.float32, [100, 64], CPU))
        embedded = ops.gather(table, graph.inputs[0].tensor, axis=0)
        logits = ops.matmul(embedded, ops.transpose(table, 0, 1))
        again = ops.matmul(logits @ table, ops.transpose(table, 0, 1))
        graph.output(logits, again)
    return graph, array(DType.float32, 100, 64)


def test_a_tied_weight_is_packed_once_for_each_layout_and_kept() -> None:
    graph, table = tied()
    seen: list[tuple[int, int, str]] = []
    compiled = InferenceSession().compile(graph)
    model = InferenceSession().init(
        compiled, weights_registry={"table": table}, progress=lambda *a: seen.append(a)
    )
    assert [name for _, _, name in seen] == ["table", "table"]
    ids = np.array([3, 99, 0, 3])
    logits, again = (to_array(output) for output in model(ids))
    exact = table.astype(np.float64)
    product(logits, exact[ids] @ exact.T, 64)
    product(again / 64, exact[ids] @ exact.T @ exact @ exact.T / 64, 164)


@pytest.mark.parametrize("dtype", [DType.float32, DType.bfloat16], ids=str)
def test_a_table_that_is_gathered_and_multiplied_is_kept_once(dtype: DType) -> None:
    rows, depth = 201, 63
    with Graph("embedding", input_types=[TensorType(DType.int32, ["b", "m"], CPU)]) as graph:
        table = graph.add_weight(Weight("table", dtype, [rows, depth], CPU))
        x = ops.gather(table, graph.inputs[0].tensor, axis=0).cast(DType.float32)
        graph.output(x, ops.matmul(x, table.T))
    numbers = array(dtype, rows, depth)
    model = InferenceSession().load(graph, weights_registry={"table": numbers})
    assert model.memory_plan(b=1, m=1).weights == 7 * 32 * depth * numbers.itemsize
    exact = numbers.astype(np.float64)
    ids = np.array([[0, -1, 31, 32, 200, -201, 7]] * 2, np.int32)
    picked, logits = (to_array(output) for output in model(ids))
    np.testing.assert_array_equal(picked, exact[ids])
    product(logits, exact[ids] @ exact.T, depth)


def test_constants_are_packed() -> None:
    w = array(DType.float32, 64, 100)
    x = TensorType(DType.float32, ["m", 64], device=CPU)
    with Graph("constant", input_types=[x]) as graph:
        graph.output(ops.matmul(graph.inputs[0].tensor, ops.constant(w, DType.float32, CPU)))
    model = InferenceSession().load(graph)
    data = array(DType.float32, 5, 64)
    product(to_array(model(data)[0]), data.astype(np.float64) @ w, 64)


def test_what_depends_on_weights_alone_is_computed_at_load() -> None:
    x = TensorType(DType.float32, ["m", 64], device=CPU)
    with Graph("joined", input_types=[x]) as graph:
        a = graph.inputs[0].tensor
        q = graph.add_weight(Weight("q", DType.bfloat16, [48, 64], CPU))
        k = graph.add_weight(Weight("k", DType.bfloat16, [64, 64], CPU))
        joined = ops.cast(ops.concat([q, k], axis=0), DType.float32)
        graph.output(ops.matmul(a, ops.transpose(joined, 0, 1)))
    weights = {"q": array(DType.bfloat16, 48, 64), "k": array(DType.bfloat16, 64, 64)}
    compiled = InferenceSession().compile(graph)
    [program] = compiled._manifest["programs"]
    kinds = [compiled._manifest["weights"][i] for i in program["weights"]]
    assert [weight["shape"][1:2] for weight in kinds if "initializer" in weight] == [[64]]
    model = InferenceSession().init(compiled, weights_registry=weights)
    data = array(DType.float32, 3, 64)
    both = np.concatenate([weights["q"], weights["k"]]).astype(np.float64)
    product(to_array(model(data)[0]), data.astype(np.float64) @ both.T, 64)


def shared_linear(name: str, module: Module | None = None) -> Graph:
    x = TensorType(DType.float32, ["m", 64], device=CPU)
    with Graph(name, input_types=[x], module=module) as graph:
        w = graph.add_weight(Weight("w", DType.float32, [128, 64], CPU))
        graph.output(ops.matmul(graph.inputs[0].tensor, ops.transpose(w, 0, 1)))
    return graph


def preparations(load: Callable[[Callable[..., object]], Any]) -> tuple[Any, list[str]]:
    """What `load` returns, and the weights that it prepared."""
    seen: list[str] = []
    return load(lambda done, total, name: seen.append(name)), seen


def test_graphs_of_a_module_share_a_pack() -> None:
    module = Module()
    shared_linear("prefill", module)
    shared_linear("decode", module)
    w = array(DType.float32, 128, 64)
    session = InferenceSession()
    compiled = session.compile(module)
    loaded, seen = preparations(
        lambda p: session.init_all(compiled, weights_registry={"w": w}, progress=p)
    )
    assert seen == ["w"]
    x = array(DType.float32, 2, 64)
    for model in loaded.values():
        product(to_array(model(x)[0]), x.astype(np.float64) @ w.T, 64)


def test_models_of_a_session_share_packs_of_one_array() -> None:
    session = InferenceSession()
    first, second = session.compile(shared_linear("a")), session.compile(shared_linear("b"))
    w = array(DType.float32, 128, 64)
    x = array(DType.float32, 2, 64)

    def load(compiled: Any, weights: np.ndarray) -> tuple[Any, int, list[str]]:
        """A model, the address of its pack, and what was prepared."""
        model, seen = preparations(
            lambda p: session.init(compiled, weights_registry={"w": weights}, progress=p)
        )
        product(to_array(model(x)[0]), x.astype(np.float64) @ weights.astype(np.float64).T, 64)
        [bound] = [b for b in session._binder._bound if b not in before]
        before.append(bound)
        [pack] = bound.tensors().values()
        return model, pack.address, seen

    before: list[Any] = []
    model, address, seen = load(first, w)
    # It might have been changed, so it is packed again and compared.
    other, shared, seen = load(second, w)
    assert shared == address
    assert seen == ["w"]
    w += 1
    changed, elsewhere, _ = load(second, w)
    assert elsewhere != address
    copied, elsewhere, _ = load(second, w.copy())
    assert elsewhere != address
    w.flags.writeable = False
    frozen, shared, seen = load(first, w)
    assert seen == []
    # Without a model that has it, it is packed anew.
    before.clear()
    del model, other, changed, copied, frozen
    assert not session._binder._bound
    _, _, seen = load(first, w)
    assert seen == ["w"]


def test_joined_weights_are_packed_at_load() -> None:
    """As the projections to queries, keys and values are: a run reads one packed matrix."""
    f32 = DType.float32
    rng = np.random.default_rng(0)
    arrays = {
        n: rng.standard_normal((rows, 48), np.float32)
        for n, rows in zip("qkv", (70, 33, 33), strict=True)
    }
    weights = [Weight(name, f32, array.shape, CPU) for name, array in arrays.items()]
    with Graph("joined", input_types=[TensorType(f32, ["n", 48], CPU)]) as graph:
        graph.output(ops.matmul(graph.inputs[0].tensor, ops.concat(weights, 0).T))
    session = InferenceSession()
    compiled = session.compile(graph)
    (program,) = compiled.manifest["programs"]
    assert [step["kernel"] for step in program["steps"]] == ["kernel_packed_matmul"]
    x = rng.standard_normal((3, 48), np.float32)
    (y,) = session.init(compiled, weights_registry=arrays).execute(x)
    expected = x.astype(np.float64) @ np.concatenate(list(arrays.values())).T
    np.testing.assert_allclose(y.to_numpy(), expected, atol=1e-4)
