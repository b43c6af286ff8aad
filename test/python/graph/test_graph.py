# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: styles, outputs, subgraphs, modules, text, locations, errors."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from typing import Any

import pytest
from graph.staging import staging, tensor
from kvern.dtype import DType
from kvern.errors import DTypeError, GraphContextError, GraphError, ShapeError, UnsupportedError
from kvern.graph import DeviceRef, Dim, Graph, KernelLibrary, Module, TensorType, Weight, ops

N4 = tensor(["n", 4])


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_context_style() -> None:
    with Graph("g", input_types=[N4]) as graph:
        assert Graph.current is graph
        x = graph.inputs[0].tensor
        graph.output(x + 1, x)
    assert graph.input_types == [N4]
    assert graph.output_types == [N4, N4]
    graph.verify()


def test_forward_style() -> None:
    def forward(x: Any, scale: float, *, shift: float) -> Any:
        return x * scale + shift

    graph = Graph("g", forward, [N4], None, 2.0, shift=1.0)
    assert graph.output_types == [N4]
    assert Graph("g", lambda x: (x, x + 1), [N4]).output_types == [N4, N4]
    assert Graph.empty().output_types == []


def test_outputs_are_converted() -> None:
    graph = Graph("g", lambda x: (1, x.shape, x.shape[0]), [N4])
    assert [t.shape for t in graph.output_types] == [[], [2], []]  # pyright: ignore


def test_text() -> None:
    graph = Graph("double", lambda x: x + x, [N4])
    assert str(graph) == (
        "func.func public @double(%arg0: !kvern.tensor<[n, 4], f32, cpu:0>) -> "
        "!kvern.tensor<[n, 4], f32, cpu:0> {\n"
        "  %0 = kvern.add %arg0, %arg0 : (!kvern.tensor<[n, 4], f32, cpu:0>, "
        "!kvern.tensor<[n, 4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>\n"
        "  return %0 : !kvern.tensor<[n, 4], f32, cpu:0>\n"
        "}"
    )


def test_prints_before_it_ends() -> None:
    with staging([2]) as (x,):
        _ = x + x
        assert "kvern.add" in str(Graph.current)


def test_names_need_not_be_identifiers() -> None:
    graph = Graph("a/b c-d", lambda x: x, [tensor(["odd name"])])
    graph.verify()
    assert '@"a/b c-d"' in str(graph)


def test_op_outside_a_graph() -> None:
    with pytest.raises(GraphContextError, match="constant: expected a graph that is being built"):
        ops.exp(1.0)
    with pytest.raises(LookupError):
        _ = Graph.current
    assert issubclass(GraphContextError, ValueError)


def test_value_of_another_graph() -> None:
    with Graph("one", input_types=[N4]) as one:
        x = one.inputs[0].tensor
    with Graph("two", input_types=[N4]) as two:
        with pytest.raises(GraphContextError, match="of graph 'two', but got one of graph 'one'"):
            ops.exp(x)
        with pytest.raises(GraphContextError, match="of graph 'two', but got one of graph 'one'"):
            two.output(x)


def test_nothing_after_the_output() -> None:
    with Graph("g", input_types=[N4]) as graph:
        graph.output()
        with pytest.raises(GraphContextError, match="'g' has ended"):
            ops.exp(graph.inputs[0])
        with pytest.raises(GraphContextError, match="'g' has ended"):
            graph.output()


def test_incomplete() -> None:
    with Graph("g", input_types=[N4]) as graph:
        pass
    with pytest.raises(GraphError, match="expected graph 'g' to have outputs"):
        graph.verify()
    with pytest.raises(GraphError, match="expected graph 'g' to have outputs"):
        _ = graph.output_types


def test_a_refused_op_leaves_no_trace() -> None:
    with staging([2], [3]) as (x, y):
        before = str(Graph.current)
        for wrong in (lambda: x + y, lambda: ops.logical_not(x), lambda: ops.reshape(x, [5])):
            with pytest.raises(GraphError):
                wrong()
        assert str(Graph.current) == before


def test_error_text() -> None:
    with staging(["n", 3], [4]) as (x, y):
        here = line() + 2
        with pytest.raises(ShapeError) as caught:
            _ = x + y
    first, *notes = str(caught.value).split("\n")
    assert first.startswith(f"{__file__}:{here}: add: expected shapes that broadcast, but got ")
    assert "[n, 3] and [4]" in first
    assert notes == [
        "  note: operand 0: !kvern.tensor<[n, 3], f32, cpu:0>",
        "  note: operand 1: !kvern.tensor<[4], f32, cpu:0>",
    ]


def test_error_classes() -> None:
    gpu = TensorType(DType.float32, [2], DeviceRef.GPU())
    with staging([2], gpu) as (x, y):
        with pytest.raises(ValueError, match="expected all operands on one device, but got"):
            _ = x + y
        with pytest.raises(DTypeError, match="expected operand 0 to be a tensor of bool, but got"):
            _ = ~x
        with pytest.raises(ShapeError, match="expected an axis from -1 to 0, but got 1"):
            x.sum(1)


def test_locations() -> None:
    with staging([2]) as (x,):
        here = line() + 1
        _ = x + x
        text = Graph.current._function.operation.get_asm(enable_debug_info=True)
    assert f'"{__file__}":{here}:0' in text


def test_source_tracebacks() -> None:
    def inner(x: Any) -> Any:
        return x + x

    Graph.debug.source_tracebacks = True
    try:
        graph = Graph("g", lambda x: inner(x), [N4])
    finally:
        Graph.debug.source_tracebacks = False
    text = graph._function.operation.get_asm(enable_debug_info=True)
    assert "callsite(" in text and '"inner"' in text and '"test_source_tracebacks"' in text


def test_subgraph() -> None:
    block_type = tensor(["rows", 4])
    with Graph("g", input_types=[N4, tensor([3, 4])]) as graph:
        x, y = (value.tensor for value in graph.inputs)
        block = graph.add_subgraph("block", lambda a: (a + 1, a @ a.T), [block_type])
        first = ops.call(block, x)
        second = ops.call(block, y, prefix="p.")
        graph.output(*first, *second)
    assert [value.type for value in first] == [N4, tensor(["n", "n"])]
    assert [value.type for value in second] == [tensor([3, 4]), tensor([3, 3])]
    assert 'kvern.call @block(%arg1) {prefix = "p."}' in str(graph)
    assert "func.func private @block" in str(graph)
    graph.verify()


def test_subgraph_errors() -> None:
    with Graph("g", input_types=[N4]) as graph:
        x = graph.inputs[0].tensor
        block = graph.add_subgraph("block", lambda a: a, [tensor(["m", "m"])])
        with pytest.raises(GraphError, match="new in the graph 'g', but got 'block'"):
            graph.add_subgraph("block")
        with pytest.raises(GraphError, match="call: expected operand 0 of @block to be"):
            ops.call(block, x)
        with pytest.raises(GraphError, match="call: expected 1 operands for @block, but got 2"):
            ops.call(block, x, x)
        open_block = graph.add_subgraph("open")
        with pytest.raises(GraphError, match="'open' has no output yet"):
            ops.call(open_block)
        with pytest.raises(GraphError, match="expected a subgraph of graph 'g'"):
            ops.call(Graph("other", lambda a: a, [N4]), x)
        with block, pytest.raises(GraphContextError, match="of graph 'block'"):
            ops.exp(x)


def test_placeholder_weights() -> None:
    weight = Weight("layers.0.w", DType.float32, [4], DeviceRef.CPU())
    other = Weight("shared", DType.float32, [4], DeviceRef.CPU())
    with Graph("g", input_types=[N4]) as graph:
        block = graph.add_subgraph(
            "b", lambda a: a * weight + other, [N4], weight_prefix="layers.0."
        )
        graph.output(*ops.call(block, graph.inputs[0], prefix="layers.1."))
    assert 'kvern.weight {name = "w", placeholder}' in str(graph)
    assert 'kvern.weight {name = "shared"}' in str(graph)


def test_module() -> None:
    module = Module()
    one = Graph("one", lambda x: x + x, [N4], module=module)
    with Graph("two", input_types=[N4], module=module) as two:
        block = two.add_subgraph("one", lambda x: x * 2, [N4])
        two.output(*ops.call(block, two.inputs[0]))
    assert list(module.graphs) == ["one", "two"] and module.graphs["one"] is one
    module.verify()
    assert str(module).count("func.func") == 3
    with pytest.raises(GraphError, match="new in the module, but got 'one'"):
        Graph("one", module=module)


def test_unique_symbolic_dim() -> None:
    with Graph("g", input_types=[tensor(["unique_n_0"])]) as graph:
        names = [graph.unique_symbolic_dim("n") for _ in range(3)]
    assert len({*names, Dim("unique_n_0")}) == 4


def test_what_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="graphs cannot be loaded"):
        Graph("g", path=Path("x"))
    with pytest.raises(NotImplementedError, match="custom kernels cannot be loaded"):
        Graph("g", custom_extensions=[Path("x")])
    with pytest.raises(DTypeError, match="expected input types, but got 3"):
        Graph("g", input_types=[3])  # pyright: ignore[reportArgumentType]
    assert KernelLibrary().library_paths() == []
    with pytest.raises(KeyError):
        KernelLibrary().has_shape_function("k")


def test_threads_have_their_own_current_graph() -> None:
    errors: list[BaseException] = []

    def build(name: str) -> None:
        try:
            for _ in range(20):
                with Graph(name, input_types=[N4, tensor([name])]) as graph:
                    x = graph.inputs[0].tensor
                    for _ in range(10):
                        x = x * 2 + Dim(name)
                    graph.output(x)
                graph.verify()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=build, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_names_of_dims_are_bound_before_they_are_used() -> None:
    with staging(["n", 4], []) as (x, _):
        with pytest.raises(ShapeError, match=r"graph knows, but got k\n.*it knows n;"):
            ops.shape_to_tensor(["k"])
        ops.rebind(x, ["k", 4])
        assert ops.shape_to_tensor(["k", Dim("n") * 2]).shape == [2]
    with staging(["n", 4], tensor([], DType.int64)) as (x, i):
        part = x[(slice(0, i), "part")]
        assert ops.broadcast_to(part, [2, "part", 4]).shape == [2, "part", 4]


def test_names_that_a_subgraph_binds_are_known_to_its_caller() -> None:
    with staging(["n"]) as (x,):
        inner = Graph.current.add_subgraph("inner", lambda y: ops.rebind(y, ["k"]), [tensor(["m"])])
        (result,) = ops.call(inner, x)
        assert ops.shape_to_tensor(result.tensor.shape).shape == [1]
        with pytest.raises(ShapeError, match="graph knows, but got m"):
            ops.shape_to_tensor(["m"])
