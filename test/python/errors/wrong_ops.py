# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on values that do not fit together: dtypes, shapes, ranks, axes, devices."""

from __future__ import annotations

import numpy as np
from errors.program import Corpus, boolean, buffer, f32, i64, on_gpu, tensor
from kvern.dtype import DType
from kvern.errors import DeviceError, DTypeError, GraphError, ShapeError, UnsupportedError
from kvern.graph import Dim, ops

CORPUS = Corpus()
staged = CORPUS.staged

# Element types


@staged([DTypeError, TypeError, ValueError], "add|float16|int64", tensor(DType.float16, 3), i64(3))
def float16_and_int64_have_no_common_type(x, y):
    return x + y


@staged([DTypeError, TypeError], "mul|int8|uint8", tensor(DType.int8, 3), tensor(DType.uint8, 3))
def int8_does_not_hold_uint8(x, y):
    return x * y


@staged(DTypeError, "add|int64|0.5|ops.cast", i64(3))
def fraction_with_integers(x):
    return x + 0.5


@staged(DTypeError, "exp|i64", i64(3))
def exponential_of_integers(x):
    return ops.exp(x)


@staged(DTypeError, "softmax|i64", i64(3, 4))
def softmax_of_integers(x):
    return ops.softmax(x)


@staged(DTypeError, "logical_and|f32", f32(3), boolean(3))
def logic_on_floats(x, y):
    return ops.logical_and(x, y)


@staged(DTypeError, "where|f32", f32(3), f32(3))
def condition_of_floats(x, y):
    return ops.where(x, x, y)


@staged(DTypeError, "matmul|i1", boolean(3, 3))
def product_of_bools(x):
    return x @ x


@staged(DTypeError, "gather|f32", f32(5, 3), f32(2))
def indices_of_floats(x, i):
    return ops.gather(x, i, axis=0)


@staged(DTypeError, "rms_norm|f32|f64", f32(3, 4), tensor(DType.float64, 4))
def norm_weight_of_another_type(x, w):
    return ops.rms_norm(x, w, 1e-6)


@staged(DTypeError, "concat|f32|i64", f32(3), i64(3))
def concatenation_of_two_types(x, y):
    return ops.concat([x, y])


@staged([DTypeError, TypeError], "cast|DType|'float32'", f32(3))
def cast_to_a_string(x):
    return ops.cast(x, "float32")


@staged(DTypeError, "add|expected a tensor|'text'", f32(3))
def text_as_operand(x):
    return ops.add(x, "text")


@staged(DTypeError, "add|buffer_load", buffer(3), f32(3))
def buffer_as_operand(b, x):
    return ops.add(x, b)


@staged([GraphError, ValueError], "constant|300|uint8", f32(3))
def constant_out_of_range(x):
    return ops.constant(300, DType.uint8, x.device)


# Shapes


@staged([ShapeError, ValueError], "add|[3]|[4]", f32(3), f32(4))
def sizes_that_do_not_broadcast(x, y):
    return x + y


@staged(ShapeError, "add|n|m", f32("n"), f32("m"))
def names_that_may_differ(x, y):
    return x + y


@staged(ShapeError, "sub|n|n + 1", f32("n"), f32(Dim("n") + 1))
def sizes_that_surely_differ(x, y):
    return x - y


@staged(ShapeError, "matmul|3|4", f32(2, 3), f32(4, 5))
def inner_sizes_that_differ(x, y):
    return x @ y


@staged(ShapeError, "matmul|rank|scalar", f32(), f32(4, 5))
def product_with_a_scalar(x, y):
    return ops.matmul(x, y)


@staged(ShapeError, "matmul|2|3", f32(2, 4, 5), f32(3, 5, 4))
def batches_that_do_not_broadcast(x, y):
    return x @ y


@staged(ShapeError, "outer|rank 1|2", f32(2, 2), f32(3))
def outer_product_of_a_matrix(x, y):
    return ops.outer(x, y)


@staged(ShapeError, "reshape|[2, 3]|[4, 2]", f32(2, 3))
def reshape_to_another_size(x):
    return x.reshape([4, 2])


@staged(ShapeError, "reshape|-1", f32(2, 3))
def reshape_with_two_unknowns(x):
    return x.reshape([-1, -1])


@staged(ShapeError, "reshape|divisible|n|rebind", f32("n", 3))
def reshape_that_may_not_divide(x):
    return x.reshape([-1, 4])


@staged(ShapeError, "squeeze|1|3", f32(2, 3))
def squeeze_of_a_larger_axis(x):
    return ops.squeeze(x, 1)


@staged(ShapeError, "broadcast_to|[3]|[2, 4]", f32(3))
def broadcast_to_another_size(x):
    return ops.broadcast_to(x, [2, 4])


@staged(ShapeError, "concat|[2, 3]|[2, 4]", f32(2, 3), f32(2, 4))
def concatenation_of_other_sizes(x, y):
    return ops.concat([x, y], axis=0)


@staged(ShapeError, "concat|rank", f32(2, 3), f32(3))
def concatenation_of_two_ranks(x, y):
    return ops.concat([x, y])


@staged(ShapeError, "concat|at least one", f32(3))
def concatenation_of_nothing(x):
    return ops.concat([])


@staged(ShapeError, "stack|[2]|[3]", f32(2), f32(3))
def stack_of_two_sizes(x, y):
    return ops.stack([x, y])


@staged(ShapeError, "split|6|7", f32(6))
def split_sizes_that_do_not_add_up(x):
    return ops.split(x, [3, 4])


@staged(ShapeError, "chunk|7|2", f32(7))
def chunks_that_do_not_divide(x):
    return ops.chunk(x, 2)


@staged(ShapeError, "layer_norm|gamma|4|3", f32(2, 4), f32(3), f32(4))
def norm_scale_of_another_size(x, gamma, beta):
    return ops.layer_norm(x, gamma, beta, 1e-5)


@staged(ShapeError, "rebind|3|4", f32(3))
def rebind_of_a_number(x):
    return ops.rebind(x, [4])


@staged(ShapeError, "rebind|rank|1|2", f32("n"))
def rebind_to_another_rank(x):
    return ops.rebind(x, ["a", "b"])


@staged(ShapeError, "tile|2 numbers|[2]", f32(3, 4))
def tile_with_too_few_numbers(x):
    return ops.tile(x, [2])


@staged(ShapeError, "shape_to_tensor|m|n", f32("n"))
def name_that_nothing_binds(x):
    return ops.shape_to_tensor(["m", 4])


@staged(ShapeError, "broadcast_to|k|none", f32(1))
def broadcast_to_a_name_that_nothing_binds(x):
    return ops.broadcast_to(x, ["k"])


# Ranks and axes


@staged(ShapeError, "sum|from -2 to 1|2", f32(3, 4))
def axis_that_is_not_there(x):
    return ops.sum(x, axis=2)


@staged(ShapeError, "softmax|axes|0", f32())
def axis_of_a_scalar(x):
    return ops.softmax(x, axis=0)


@staged(DTypeError, "argmax|int|1.5", f32(3, 4))
def axis_that_is_no_int(x):
    return ops.argmax(x, axis=1.5)


@staged(ShapeError, "permute|0, 0", f32(3, 4))
def permutation_with_a_repeat(x):
    return x.permute([0, 0])


@staged(ShapeError, "transpose|from -2 to 1|5", f32(3, 4))
def transpose_of_an_axis_that_is_not_there(x):
    return ops.transpose(x, 0, 5)


@staged(ShapeError, "flatten|1|0", f32(3, 4))
def flatten_backwards(x):
    return x.flatten(1, 0)


@staged(ShapeError, "band_part|rank 2", f32(3))
def band_of_a_vector(x):
    return ops.band_part(x, 0, 0)


# Indices


@staged([ShapeError, IndexError], "slice_tensor|-3 to 2|3", f32(3, 4))
def index_out_of_range(x):
    return x[3]


@staged([GraphError, IndexError], "slice_tensor|at most 2|3", f32(3, 4))
def too_many_indices(x):
    return x[0, 0, 0]


@staged(GraphError, "slice_tensor|...|2", f32(3, 4))
def two_ellipses(x):
    return x[..., ...]


@staged(ShapeError, "slice_tensor|step|0", f32(3, 4))
def step_of_zero(x):
    return x[::0]


@staged(DTypeError, "slice_tensor|gather|[0, 1]", f32(3, 4))
def list_as_index(x):
    return x[[0, 1]]


@staged(ShapeError, "slice|n|m", f32("n"), i64())
def run_time_bounds_without_a_name(x, i):
    return x[:i]


# Devices


@staged(DeviceError, "add|cpu:0|gpu:0", f32(3), on_gpu(3))
def operands_on_two_devices(x, y):
    return x + y


@staged(DeviceError, "assert_same_device|a on cpu:0|b on gpu:0", f32(3), on_gpu(3))
def values_on_two_devices(x, y):
    return ops.assert_same_device(a=x, b=y)


@staged([UnsupportedError, NotImplementedError], "transfer_to|cpu:0|gpu:0", f32(3))
def transfer_to_a_gpu(x):
    from kvern.graph import DeviceRef

    return ops.transfer_to(x, DeviceRef.GPU())


# What is not supported


@staged(GraphError, "gelu|sigmoid", f32(3))
def unknown_approximation(x):
    return ops.gelu(x, approximate="sigmoid")


@staged([UnsupportedError, ValueError], "repeat_interleave|int|TensorValue", f32(3), i64(3))
def repeats_as_a_tensor(x, repeats):
    return ops.repeat_interleave(x, repeats)


@staged([UnsupportedError, ValueError], "broadcast_to|dims|tensor", f32(1), i64(1))
def shape_as_a_tensor(x, shape):
    return ops.broadcast_to(x, shape, out_dims=[3])


@staged(NotImplementedError, "print", f32(3))
def printing_at_run_time(x):
    return x.print()


@staged(GraphError, "bool|truth value|ops.where", f32(3))
def truth_of_a_tensor(x):
    return 1 if x else 2


@staged(ShapeError, "iter|static|n", f32("n"))
def iteration_over_a_named_axis(x):
    return list(x)


@staged([DTypeError, TypeError], "constant|DType|'float32'", f32(3))
def constant_of_a_text_as_dtype(x):
    return ops.constant(1, "float32")


@staged(ShapeError, "range", f32(3))
def range_without_an_end(x):
    return ops.range(0, 10, 0, dtype=DType.int64, device=x.device)


# Buffers


@staged(ShapeError, "buffer_store|[3]|[4]", buffer(3), f32(4))
def store_of_another_shape(b, x):
    ops.buffer_store(b, x)


@staged(DTypeError, "buffer_store|f32|i64", buffer(3), i64(3))
def store_of_another_type(b, x):
    ops.buffer_store(b, x)


@staged(DTypeError, "buffer_store|expected a buffer|TensorValue", f32(3))
def store_into_a_tensor(x):
    ops.buffer_store(x, x)


@staged(ShapeError, "buffer_store_slice|2|3", buffer(5), f32(3))
def store_of_another_slice(b, x):
    b[1:3] = x


@staged(DTypeError, "buffer_load|expected a buffer", f32(3))
def load_of_a_tensor(x):
    return ops.buffer_load(x)


@staged([DTypeError, TypeError], "Value|buffer", f32(3))
def tensor_taken_for_a_buffer(x):
    return x.buffer


@staged(ShapeError, "add|[3]|[2, 2]", f32(3))
def array_of_another_shape(x):
    return x + np.ones((2, 2), np.float32)


# Windows


@staged([ShapeError, ValueError], "conv2d|channel axis|4|8", f32("n", 9, 9, 8), f32(3, 3, 4, 16))
def filter_of_other_channels(x, w):
    return ops.conv2d(x, w)


@staged([ShapeError, ValueError], "conv2d|window of 5|axis 1|3", f32(1, 9, 3, 1), f32(5, 5, 1, 2))
def window_larger_than_a_static_image(x, w):
    return ops.conv2d(x, w)


@staged([ShapeError, ValueError], "conv2d|4 elements as padding", f32(1, 9, 9, 1), f32(3, 3, 1, 2))
def paddings_of_one_axis(x, w):
    return ops.conv2d(x, w, padding=(1, 1))


@staged([ShapeError, ValueError], "conv3d|layout|NHCW", f32(1, 9, 9, 9, 1), f32(3, 3, 3, 1, 2))
def unknown_layout(x, w):
    return ops.conv3d(x, w, input_layout="NHCW")


@staged([DTypeError, TypeError], "avg_pool2d|i64", i64("n", 8, 8, 4))
def mean_of_integers(x):
    return ops.avg_pool2d(x, 2)


@staged([ShapeError, ValueError], "pad|reflect|4|3", f32("n", 3))
def mirror_of_too_few_elements(x):
    return ops.pad(x, [0, 0, 4, 0], "reflect")
