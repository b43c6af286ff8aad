# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions."""

from __future__ import annotations

from collections.abc import Callable

from kvern.dtype import DType
from kvern.graph import TensorValue, ops

from onnx_mapping.registry import Node, axes_of, onnx_op, sizes

_Reduce = Callable[[TensorValue, int], TensorValue]


def reduce_axes(node: Node, x: TensorValue, reduce: _Reduce) -> TensorValue:
    """Reduces along all axes that the node names, one after another."""
    axes = node.ints(1, "axes")
    if not axes:
        if node.attribute("noop_with_empty_axes", 0):
            return x
        axes = list(range(x.rank))
    axes = axes_of(axes, x.rank)
    for axis in axes:
        x = reduce(x, axis)
    if not node.attribute("keepdims", 1):
        for axis in reversed(axes):
            x = ops.squeeze(x, axis)
    return x


def _max(x: TensorValue, axis: int) -> TensorValue:
    return ops.max(x, axis=axis)


def _min(x: TensorValue, axis: int) -> TensorValue:
    return ops.min(x, axis=axis)


@onnx_op("ReduceSum", "ReduceProd", "ReduceMean")
def _plain(node: Node) -> TensorValue:
    reduce = {"ReduceSum": ops.sum, "ReduceProd": ops.prod, "ReduceMean": ops.mean}[node.op]
    return reduce_axes(node, node[0], reduce)


@onnx_op("ReduceMax", "ReduceMin")
def _extreme(node: Node) -> TensorValue:
    reduce = _max if node.op == "ReduceMax" else _min
    x = node[0]
    if x.dtype is DType.bool:
        return ops.cast(reduce_axes(node, ops.cast(x, DType.uint8), reduce), DType.bool)
    return reduce_axes(node, x, reduce)


@onnx_op("ReduceL1")
def _l1(node: Node) -> TensorValue:
    return reduce_axes(node, ops.abs(node[0]), ops.sum)


@onnx_op("ReduceSumSquare")
def _sum_square(node: Node) -> TensorValue:
    return reduce_axes(node, node[0] * node[0], ops.sum)


@onnx_op("ReduceL2")
def _l2(node: Node) -> TensorValue:
    return ops.sqrt(reduce_axes(node, node[0] * node[0], ops.sum))


@onnx_op("ReduceLogSum")
def _log_sum(node: Node) -> TensorValue:
    return ops.log(reduce_axes(node, node[0], ops.sum))


@onnx_op("ReduceLogSumExp")
def _log_sum_exp(node: Node) -> TensorValue:
    return ops.log(reduce_axes(node, ops.exp(node[0]), ops.sum))


@onnx_op("ArgMax", "ArgMin")
def _arg(node: Node) -> TensorValue:
    reduce = ops.argmax if node.op == "ArgMax" else ops.argmin
    x = node[0]
    (axis,) = axes_of([node.attribute("axis", 0)], x.rank)
    if node.attribute("select_last_index", 0):
        backwards = tuple(slice(None, None, -1 if i == axis else 1) for i in range(x.rank))
        result = sizes(x)[axis] - 1 - reduce(x[backwards], axis)
    else:
        result = reduce(x, axis)
    return result if node.attribute("keepdims", 1) else ops.squeeze(result, axis)


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: Node) -> TensorValue:
    """Over all axes after the channels."""
    x = node[0]
    reduce = ops.mean if node.op == "GlobalAveragePool" else _max
    for axis in range(2, x.rank):
        x = reduce(x, axis)
    return x


@onnx_op("LpNormalization")
def _lp_normalization(node: Node) -> TensorValue:
    x = node[0]
    axis = node.attribute("axis", -1)
    if node.attribute("p", 2) == 1:
        norm = ops.sum(ops.abs(x), axis)
    else:
        norm = ops.sqrt(ops.sum(x * x, axis))
    return ops.where(norm == 0, x - x, x / norm)
