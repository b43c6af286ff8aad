# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import TensorValue, ops

from onnx_mapping.registry import CPU, Entry, Node, NotMapped, axes_of, dtype_of, onnx_op, sizes


@onnx_op("Reshape")
def _reshape(node: Node) -> TensorValue:
    x = node[0]
    target = node.ints(1, "shape")
    if not node.attribute("allowzero", 0):
        target = [sizes(x)[i] if size == 0 else size for i, size in enumerate(target)]
    return ops.reshape(x, target)


@onnx_op("Flatten")
def _flatten(node: Node) -> TensorValue:
    x = node[0]
    shape = sizes(x)
    axis = node.attribute("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return ops.reshape(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])


@onnx_op("Squeeze")
def _squeeze(node: Node) -> TensorValue:
    x = node[0]
    axes = node.ints(1, "axes")
    if axes is None:
        axes = [i for i, size in enumerate(sizes(x)) if size == 1]
    for axis in reversed(axes_of(axes, x.rank)):
        x = ops.squeeze(x, axis)
    return x


@onnx_op("Unsqueeze")
def _unsqueeze(node: Node) -> TensorValue:
    x = node[0]
    axes = node.ints(1, "axes")
    for axis in axes_of(axes, x.rank + len(axes)):
        x = ops.unsqueeze(x, axis)
    return x


@onnx_op("Transpose")
def _transpose(node: Node) -> TensorValue:
    x = node[0]
    return ops.permute(x, list(node.attribute("perm", list(range(x.rank))[::-1])))


@onnx_op("Expand")
def _expand(node: Node) -> TensorValue:
    x = node[0]
    return ops.broadcast_to(x, np.broadcast_shapes(tuple(sizes(x)), tuple(node.ints(1, "shape"))))


@onnx_op("Concat")
def _concat(node: Node) -> TensorValue:
    return ops.concat(node.all(), node.attribute("axis"))


@onnx_op("Split")
def _split(node: Node) -> Any:
    x = node[0]
    (axis,) = axes_of([node.attribute("axis", 0)], x.rank)
    parts = node.ints(1, "split")
    if parts is None:
        count = node.attribute("num_outputs", len(node.outputs))
        size = sizes(x)[axis]
        step = -(-size // count)
        parts = [min(step, size - i * step) for i in range(count)]
    return ops.split(x, parts, axis)


@onnx_op("Tile")
def _tile(node: Node) -> TensorValue:
    return ops.tile(node[0], node.ints(1, "repeats"))


@onnx_op("Shape")
def _shape(node: Node) -> Entry:
    x = node[0]
    start, end = node.attribute("start", 0), node.attribute("end", None)
    part = slice(start, end)
    return Entry(ops.shape_to_tensor(x.shape[part]), np.array(sizes(x)[part], np.int64))


@onnx_op("Size")
def _size(node: Node) -> Entry:
    count = math.prod(sizes(node[0]))
    return Entry(TensorValue.from_dim(count), np.array(count, np.int64))


@onnx_op("Constant")
def _constant(node: Node) -> Entry:
    import onnx

    for name in ("value_float", "value_int", "value_floats", "value_ints"):
        value = node.attribute(name)
        if value is not None:
            return Entry(known=np.array(value, np.float32 if "float" in name else np.int64))
    proto = node.attribute("value")
    if proto is None:
        raise NotMapped("Constant of strings or sparse")
    dtype_of(proto.data_type)
    return Entry(known=onnx.numpy_helper.to_array(proto))


@onnx_op("ConstantOfShape")
def _constant_of_shape(node: Node) -> Entry:
    import onnx

    proto = node.attribute("value")
    value = np.zeros(1, np.float32) if proto is None else onnx.numpy_helper.to_array(proto)
    shape = [int(size) for size in node.known(0)]
    scalar = ops.constant(value[0], DType.from_numpy(value.dtype), CPU)
    return Entry(ops.broadcast_to(scalar, shape), np.full(shape, value[0]))


@onnx_op("Range")
def _range(node: Node) -> TensorValue:
    start, stop, step = (node.known(i) for i in range(3))
    dtype = DType.from_numpy(start.dtype)
    return ops.range(start.item(), stop.item(), step.item(), dtype=dtype, device=CPU)


@onnx_op("EyeLike")
def _eye_like(node: Node) -> TensorValue:
    rows, columns = sizes(node[0])
    to = node.attribute("dtype")
    dtype = node[0].dtype if to is None else dtype_of(to)
    return ops.cast(_difference(rows, columns) == node.attribute("k", 0), dtype)


@onnx_op("Trilu")
def _trilu(node: Node) -> TensorValue:
    x, k = node[0], int(node.known(1, 0))
    above = _difference(*sizes(x)[-2:])
    keep = above >= k if node.attribute("upper", 1) else ops.greater_equal(k, above)
    return ops.where(keep, x, ops.cast(ops.constant(0, DType.uint8, CPU), x.dtype))


def _difference(rows: int, columns: int) -> TensorValue:
    """Column minus row, `[rows, columns]`."""
    places = [ops.range(0, n, 1, dtype=DType.int64, device=CPU) for n in (rows, columns)]
    return ops.unsqueeze(places[1], 0) - ops.unsqueeze(places[0], 1)


@onnx_op("DepthToSpace")
def _depth_to_space(node: Node) -> TensorValue:
    x, b = node[0], node.attribute("blocksize")
    n, c, h, w = sizes(x)
    if node.attribute("mode", "DCR") == "DCR":
        x = x.reshape([n, b, b, c // b**2, h, w]).permute([0, 3, 4, 1, 5, 2])
    else:
        x = x.reshape([n, c // b**2, b, b, h, w]).permute([0, 1, 4, 2, 5, 3])
    return x.reshape([n, c // b**2, h * b, w * b])


@onnx_op("SpaceToDepth")
def _space_to_depth(node: Node) -> TensorValue:
    x, b = node[0], node.attribute("blocksize")
    n, c, h, w = sizes(x)
    order = [0, 3, 5, 1, 2, 4] if node.attribute("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    x = x.reshape([n, c, h // b, b, w // b, b]).permute(order)
    return x.reshape([n, c * b**2, h // b, w // b])
