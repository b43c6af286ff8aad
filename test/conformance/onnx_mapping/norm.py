# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations."""

from __future__ import annotations

import math
from typing import Any

from kvern.graph import TensorValue, ops

from onnx_mapping.registry import Node, NotMapped, axes_of, onnx_op, sizes


def _rows(node: Node) -> tuple[TensorValue, list[int], list[int]]:
    """The input with the normalized axes as one, its shape, and the shape of a statistic."""
    x = node[0]
    shape = sizes(x)
    (axis,) = axes_of([node.attribute("axis", -1)], x.rank)
    rows = ops.reshape(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])
    return rows, shape, [*shape[:axis], *[1] * (len(shape) - axis)]


def _parameter(x: TensorValue, count: int) -> TensorValue:
    if math.prod(sizes(x)) != count:
        raise NotMapped("a scale that broadcasts")
    return ops.reshape(x, [count])


@onnx_op("LayerNormalization")
def _layer_norm(node: Node) -> Any:
    rows, shape, statistic = _rows(node)
    count, epsilon = sizes(rows)[1], node.attribute("epsilon", 1e-5)
    bias = _parameter(node[2], count) if node.has(2) else None
    results = [ops.reshape(ops.layer_norm(rows, _parameter(node[1], count), bias, epsilon), shape)]
    if len(node.outputs) > 1:
        mean = ops.mean(rows)
        centred = rows - mean
        deviation = ops.rsqrt(ops.mean(centred * centred) + epsilon)
        results += [ops.reshape(value, statistic) for value in (mean, deviation)]
    return results[: len(node.outputs)]


@onnx_op("RMSNormalization")
def _rms_norm(node: Node) -> TensorValue:
    rows, shape, _ = _rows(node)
    scale = _parameter(node[1], sizes(rows)[1])
    return ops.reshape(ops.rms_norm(rows, scale, node.attribute("epsilon", 1e-5)), shape)


@onnx_op("BatchNormalization")
def _batch_norm(node: Node) -> TensorValue:
    """Statistics are inputs outside of training; channels are axis 1."""
    node.refuse("training_mode")
    x = node[0]
    shape = [-1, *[1] * (x.rank - 2)]
    scale, bias, mean, variance = (ops.reshape(node[i], shape) for i in range(1, 5))
    return (x - mean) * ops.rsqrt(variance + node.attribute("epsilon", 1e-5)) * scale + bias


def _grouped(x: TensorValue, groups: int, epsilon: float) -> TensorValue:
    """Normalizes each group of channels (axis 1) with all axes after them."""
    shape = sizes(x)
    count = math.prod(shape[1:]) // groups
    rows = ops.reshape(x, [shape[0] * groups, count])
    one = ops.broadcast_to(ops.constant(1.0, x.dtype, x.device), [count])
    return ops.reshape(ops.layer_norm(rows, one, None, epsilon), shape)


@onnx_op("InstanceNormalization", "GroupNormalization")
def _group_norm(node: Node) -> TensorValue:
    x = node[0]
    channels = sizes(x)[1]
    groups = node.attribute("num_groups", channels)
    if node.op == "GroupNormalization" and node.opset < 21:
        raise NotMapped("GroupNormalization with a scale for each group")
    shape = [-1, *[1] * (x.rank - 2)]
    scale, bias = (ops.reshape(node[i], shape) for i in (1, 2))
    return _grouped(x, groups, node.attribute("epsilon", 1e-5)) * scale + bias


@onnx_op("MeanVarianceNormalization")
def _mean_variance(node: Node) -> TensorValue:
    x = node[0]
    mean = x
    axes = node.attribute("axes", [0, 2, 3])
    for axis in axes:
        mean = ops.mean(mean, axis)
    variance = (x - mean) * (x - mean)
    for axis in axes:
        variance = ops.mean(variance, axis)
    return (x - mean) / (ops.sqrt(variance) + 1e-9)
