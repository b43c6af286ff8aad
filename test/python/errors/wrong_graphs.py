# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs, subgraphs, types and weights that are put together wrongly."""

from __future__ import annotations

from errors.program import CPU, Corpus, f32
from kvern import nn
from kvern.dtype import DType
from kvern.errors import (
    DeviceError,
    DTypeError,
    GraphContextError,
    GraphError,
    ShapeError,
    UnsupportedError,
    WeightError,
)
from kvern.graph import DeviceRef, Dim, Graph, Module, TensorType, Weight, ops

CORPUS = Corpus()
staged, plain = CORPUS.staged, CORPUS.plain
F32 = DType.float32


@plain([GraphContextError, ValueError, RuntimeError], "constant|with Graph", located=True)
def op_outside_a_graph():
    ops.constant(1.0, F32, CPU)


@plain([GraphContextError, LookupError], "Graph.current", located=True)
def no_current_graph():
    return Graph.current


@plain(GraphContextError, "add|'second'|'first'", located=True)
def value_of_another_graph():
    first = Graph("first", input_types=[f32(3)])
    with Graph("second", input_types=[f32(3)]) as second:
        ops.add(first.inputs[0].tensor, second.inputs[0].tensor)


@plain(GraphContextError, "relu|'inner'|'outer'", located=True)
def value_of_the_enclosing_graph():
    with Graph("outer", input_types=[f32(3)]) as outer:
        with outer.add_subgraph("inner", input_types=[f32(3)]):
            ops.relu(outer.inputs[0].tensor)


@staged(GraphContextError, "ended", f32(3))
def op_after_the_output(x):
    Graph.current.output(x)
    ops.relu(x)


@staged(GraphError, "output|ended", f32(3))
def two_outputs(x):
    Graph.current.output(x)
    Graph.current.output(x)


@staged(DTypeError, "output|None", f32(3))
def output_of_nothing(x):
    Graph.current.output(x, None)


@plain(GraphError, "'same'", located=True)
def two_graphs_of_one_name():
    module = Module()
    Graph("same", lambda: None, module=module)
    Graph("same", lambda: None, module=module)


@plain([UnsupportedError, NotImplementedError], "path", located=True)
def graph_from_a_file():
    from pathlib import Path

    Graph("saved", path=Path("graph.bin"))


@plain(NotImplementedError, "kernels", located=False)
def custom_kernels():
    from pathlib import Path

    Graph("custom", custom_extensions=[Path("kernels.so")])


@plain(DTypeError, "Graph|input types|float32", located=True)
def dtype_as_input_type():
    Graph("typed", input_types=[F32])


@plain([ShapeError, ValueError], "TensorType|-1|axis 1", located=True)
def negative_size():
    TensorType(F32, [3, -1], CPU)


@plain(TypeError, "TensorType|DType")
def numpy_type_as_dtype():
    TensorType(float, [3], CPU)


@plain(TypeError, "dims|'n'")
def name_as_shape():
    TensorType(F32, "n", CPU)


@plain(TypeError, "DeviceRef|'cpu'")
def text_as_device():
    TensorType(F32, [3], "cpu")


@plain([DeviceError, ValueError], "'cpu' or 'gpu'|'tpu'", located=True)
def unknown_kind_of_device():
    DeviceRef("tpu")


@plain(ShapeError, "name that is not empty", located=True)
def empty_name_of_a_dim():
    Dim("")


@plain(ShapeError, "static dim|n", located=True)
def number_of_a_named_dim():
    return int(Dim("n") + 1)


# Subgraphs


@plain(ShapeError, "call|3|4", located=True)
def call_with_another_size():
    with Graph("main", input_types=[f32(4)]) as main:
        inner = main.add_subgraph("inner", lambda x: x, [f32(3)])
        ops.call(inner, main.inputs[0])


@plain(ShapeError, "call|n|2|3", located=True)
def call_with_one_name_for_two_sizes():
    with Graph("main", input_types=[f32(2, 3)]) as main:
        inner = main.add_subgraph("inner", lambda x: x, [f32("n", "n")])
        ops.call(inner, main.inputs[0])


@plain(DTypeError, "call|f32|i64", located=True)
def call_with_another_type():
    with Graph("main", input_types=[TensorType(DType.int64, [3], CPU)]) as main:
        inner = main.add_subgraph("inner", lambda x: x, [f32(3)])
        ops.call(inner, main.inputs[0])


@plain(GraphError, "call|1|2", located=True)
def call_with_too_many_arguments():
    with Graph("main", input_types=[f32(3)]) as main:
        inner = main.add_subgraph("inner", lambda x: x, [f32(3)])
        ops.call(inner, main.inputs[0], main.inputs[0])


@plain(GraphError, "call|'inner'|no output", located=True)
def call_of_an_unfinished_subgraph():
    with Graph("main", input_types=[f32(3)]) as main:
        ops.call(main.add_subgraph("inner", input_types=[f32(3)]), main.inputs[0])


@plain(GraphError, "call|'other'|add_subgraph", located=True)
def call_of_another_graph():
    other = Graph("other", lambda x: x, [f32(3)])
    with Graph("main", input_types=[f32(3)]) as main:
        ops.call(other, main.inputs[0])


@plain(GraphError, "'inner'|'main'", located=True)
def two_subgraphs_of_one_name():
    with Graph("main") as main:
        main.add_subgraph("inner", lambda: None)
        main.add_subgraph("inner", lambda: None)


# Weights and Modules


@plain([WeightError, ValueError], "'weight'|names that differ", located=True)
def two_weights_of_one_name():
    layers = [nn.Linear(3, 3, F32, CPU) for _ in range(2)]
    with Graph("stack", input_types=[f32(3)]) as graph:
        layers[1](layers[0](graph.inputs[0].tensor))


@plain(GraphContextError, "graph that is being built", located=True)
def weight_outside_a_graph():
    return Weight("w", F32, [3], CPU) + 1.0


@plain(ShapeError, "TensorType|-3", located=True)
def weight_of_a_negative_size():
    Weight("w", F32, [-3], CPU)


@plain(GraphError, "Weight.shard|strategy", located=True)
def shard_without_a_strategy():
    Weight("w", F32, [4], CPU).shard([CPU])


@plain([WeightError, ValueError], "missing (1): weight|unexpected (1): wieght")
def misspelt_weight():
    nn.Linear(2, 3, F32, CPU).load_state_dict({"wieght": None})


@plain(ValueError, "'weight': expected float32 [3, 2], but got float64 [2, 3]")
def weight_of_another_dtype_and_shape():
    import numpy as np

    nn.Linear(2, 3, F32, CPU).load_state_dict({"weight": np.zeros((2, 3))})


@plain(NotImplementedError, "Linear|quantized|fp8")
def quantized_linear():
    nn.Linear(2, 3, F32, CPU, quant_config="fp8")


@plain(NotImplementedError, "MLP|several devices|cpu:0, gpu:0")
def mlp_on_two_devices():
    nn.MLP(F32, None, 2, 3, [CPU, DeviceRef.GPU()])


@plain(NotImplementedError, "transfers between devices", located=True)
def linear_on_a_gpu():
    with Graph("gpu", input_types=[f32(2)]) as graph:
        nn.Linear(2, 3, F32, DeviceRef.GPU())(graph.inputs[0].tensor)
