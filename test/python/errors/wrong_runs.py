# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are loaded with wrong weights, or run on wrong inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from compiling import cpu_buffer, session
from errors.program import CPU, Corpus, f32, i64
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.errors import ArtifactError, ExecutionError, InputError, InputTypeError, WeightError
from kvern.graph import Dim, Graph, Module, TensorValue, Weight, ops

CORPUS = Corpus()
plain = CORPUS.plain


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


def model(forward: Callable[..., Any], *types: Any, **options: Any) -> Any:
    return session().load(Graph("graph", forward, types), **options)


@functools.cache
def sum_of_two() -> Any:
    """x [n, 3] + y [n, 3]."""
    return model(lambda x, y: x + y, f32("n", 3), f32("n", 3))


# Inputs


@plain([InputTypeError, TypeError], "'graph'|2 inputs|1")
def too_few_inputs():
    sum_of_two().execute(array(2, 3))


@plain([InputTypeError, TypeError], "'graph'|2 inputs|3")
def too_many_inputs():
    sum_of_two().execute(*[array(2, 3)] * 3)


@plain(TypeError, "no input 'z'")
def unknown_keyword():
    sum_of_two()(array(2, 3), z=array(2, 3))


@plain(TypeError, "two values|input")
def input_given_twice():
    loaded = sum_of_two()
    loaded(array(2, 3), array(2, 3), **{loaded.input_metadata[0].name: array(2, 3)})


@plain([InputError, ValueError], "float32|float64")
def input_of_another_dtype():
    sum_of_two().execute(array(2, 3), array(2, 3, dtype=np.float64))


@plain([InputError, ValueError], "rank|2|1")
def input_of_another_rank():
    sum_of_two().execute(array(2, 3), array(3))


@plain([InputError, ValueError], "3|4")
def input_of_another_static_size():
    sum_of_two().execute(array(2, 3), array(2, 4))


@plain([InputError, ValueError], "n|2|5")
def one_name_with_two_sizes():
    sum_of_two().execute(array(2, 3), array(5, 3))


@plain([InputError, ValueError], "contiguous")
def input_that_is_not_contiguous():
    sum_of_two().execute(array(2, 3), array(3, 2).T)


@plain([InputTypeError, TypeError], "array|str")
def text_as_input():
    sum_of_two().execute(array(2, 3), "text")


@plain([InputError, ValueError], "n * 2|7")
def size_that_does_not_solve():
    model(lambda x: x + 1, f32(Dim("n") * 2)).execute(array(7))


@plain([InputError, ValueError], "n + 1|4|4")
def size_that_does_not_fit_another():
    model(lambda x, y: x[0] + y[0], f32("n"), f32(Dim("n") + 1)).execute(array(4), array(4))


@plain([InputError, ValueError], "writable")
def read_only_array_as_buffer():
    def forward(b: Any) -> None:
        ops.buffer_store(b, ops.buffer_load(b) + 1)

    memory = array(3)
    memory.flags.writeable = False
    model(forward, cpu_buffer(DType.float32, [3])).execute(memory)


# Checks while the model runs


@plain([ExecutionError, RuntimeError], "wrong_runs.py|gather|5|3")
def index_out_of_range():
    picked = model(lambda x, i: ops.gather(x, i, axis=0), f32(3, 2), i64("k"))
    picked.execute(array(3, 2), np.array([0, 5]))


@plain([ExecutionError, RuntimeError], "wrong_runs.py|rebind|four columns|4|5")
def rebind_that_does_not_hold():
    bound = model(lambda x: ops.rebind(x, ["n", 4], "four columns"), f32("n", "m"))
    bound.execute(array(2, 5))


@plain([ExecutionError, RuntimeError], "wrong_runs.py|slice|4|3")
def slice_beyond_a_named_axis():
    model(lambda x: x[:4], f32("n")).execute(array(3))


@plain([ExecutionError, RuntimeError], "wrong_runs.py|window|axis 1|5|3")
def window_larger_than_the_image():
    image, filter = f32("n", "h", 7, 1), f32(5, 5, 1, 2)
    model(ops.conv2d, image, filter).execute(array(1, 3, 7, 1), array(5, 5, 1, 2))


@plain([ExecutionError, RuntimeError], "wrong_runs.py|rebind|k|3|2")
def run_time_bound_with_another_size():
    def forward(x: TensorValue, i: TensorValue) -> Any:
        return x[(slice(0, i), "k")] + ops.constant(
            np.zeros(2, np.float32), DType.float32, CPU
        ).rebind(["k"])

    model(forward, f32("n"), i64()).execute(array(5), np.array(3))


# Weights


def weighted() -> Any:
    """x * scale + shift, with two weights [3]."""
    scale, shift = (Weight(name, DType.float32, [3], CPU) for name in ("scale", "shift"))
    return Graph("weighted", lambda x: x * scale + shift, [f32("n", 3)])


@plain([WeightError, ValueError], "missing|scale|shift")
def weights_that_are_missing():
    session().load(weighted())


@plain([WeightError, ValueError], "unexpected|bias|missing|shift")
def weights_missing_and_unexpected():
    session().load(weighted(), weights_registry={"scale": array(3), "bias": array(3)})


@plain(WeightError, "scale|float32|float64")
def weight_of_another_dtype():
    weights = {"scale": array(3, dtype=np.float64), "shift": array(3)}
    session().load(weighted(), weights_registry=weights)


@plain(WeightError, "shift|3|4")
def weight_of_another_shape():
    session().load(weighted(), weights_registry={"scale": array(3), "shift": array(4)})


@plain(WeightError, "scale|str")
def text_as_weight():
    session().load(weighted(), weights_registry={"scale": "text", "shift": array(3)})


# Loading


@plain([InputTypeError, TypeError], "Graph|int")
def number_as_model():
    session().load(3)  # pyright: ignore[reportArgumentType]


@plain(FileNotFoundError, "nowhere")
def file_that_is_not_there():
    session().load("/nowhere/model.kvernexe")


@plain([ArtifactError, ValueError], "")
def bytes_that_are_no_executable():
    session().load(b"KVERNEXE and nothing else")


@plain(ValueError, "'open'|output")
def graph_without_an_output():
    session().load(Graph("open", input_types=[f32(3)]))


@plain(ValueError, "one graph|load_all")
def several_graphs_for_load():
    module = Module()
    for name in ("a", "b"):
        Graph(name, lambda x: x + 1, [f32(3)], module=module)
    session().load(module)


@plain(NotImplementedError, "custom_extensions")
def custom_extensions_of_a_session():
    InferenceSession(custom_extensions="kernels.so")


@plain(ValueError, "num_threads|0")
def no_threads():
    InferenceSession(num_threads=0)
