# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices and elements by index."""

from __future__ import annotations

from kvern.dtype import DType
from kvern.graph import TensorValue, ops

from onnx_mapping.registry import CPU, Node, axes_of, onnx_op, sizes


@onnx_op("Gather")
def _gather(node: Node) -> TensorValue:
    x = node[0]
    (axis,) = axes_of([node.attribute("axis", 0)], x.rank)
    return ops.gather(x, node[1], axis)


@onnx_op("Slice")
def _slice(node: Node) -> TensorValue:
    x = node[0]
    starts, ends = node.ints(1, "starts"), node.ints(2, "ends")
    axes = node.ints(3, "axes") or list(range(len(starts)))
    steps = node.ints(4, "steps") or [1] * len(starts)
    index = [slice(None)] * x.rank
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = sizes(x)[axis]
        # Below -size there is nothing left of the axis; None says so when the step is negative.
        stop = None if step < 0 and end < -size else end
        index[axis] = slice(start, stop, step)
    return x[tuple(index)]


@onnx_op("OneHot")
def _one_hot(node: Node) -> TensorValue:
    depth = int(node.known(1).item())
    indices, values = ops.cast(node[0], DType.int64), node[2]
    axis = node.attribute("axis", -1)
    axis = axis + indices.rank + 1 if axis < 0 else axis
    indices = ops.where(indices < 0, indices + depth, indices)
    places = ops.range(0, depth, 1, dtype=DType.int64, device=CPU)
    places = ops.reshape(places, [depth if i == axis else 1 for i in range(indices.rank + 1)])
    return ops.where(ops.unsqueeze(indices, axis) == places, values[1], values[0])
