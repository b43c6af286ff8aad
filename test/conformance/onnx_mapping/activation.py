# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions: ops of their own, or short formulas."""

from __future__ import annotations

from kvern.graph import TensorValue, ops

from onnx_mapping.registry import MAPPING, Node, axes_of, onnx_op

MAPPING.update(
    {
        "Relu": lambda node: ops.relu(node[0]),
        "Sigmoid": lambda node: ops.sigmoid(node[0]),
        "Tanh": lambda node: ops.tanh(node[0]),
        "Gelu": lambda node: ops.gelu(node[0], node.attribute("approximate", "none")),
        "Softplus": lambda node: ops.log1p(ops.exp(node[0])),
        "Softsign": lambda node: node[0] / (ops.abs(node[0]) + 1.0),
        "Mish": lambda node: node[0] * ops.tanh(ops.log1p(ops.exp(node[0]))),
        "PRelu": lambda node: ops.where(node[0] >= 0, node[0], node[0] * node[1]),
    }
)


@onnx_op("Swish")
def _swish(node: Node) -> TensorValue:
    return node[0] * ops.sigmoid(node[0] * node.attribute("alpha", 1.0))


@onnx_op("LeakyRelu")
def _leaky_relu(node: Node) -> TensorValue:
    return ops.where(node[0] >= 0, node[0], node[0] * node.attribute("alpha", 0.01))


@onnx_op("ThresholdedRelu")
def _thresholded_relu(node: Node) -> TensorValue:
    return ops.where(node[0] > node.attribute("alpha", 1.0), node[0], 0.0)


@onnx_op("Elu")
def _elu(node: Node) -> TensorValue:
    return ops.where(node[0] >= 0, node[0], (ops.exp(node[0]) - 1.0) * node.attribute("alpha", 1.0))


@onnx_op("Celu")
def _celu(node: Node) -> TensorValue:
    alpha = node.attribute("alpha", 1.0)
    return ops.max(node[0], 0.0) + ops.min((ops.exp(node[0] / alpha) - 1.0) * alpha, 0.0)


@onnx_op("Selu")
def _selu(node: Node) -> TensorValue:
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    gamma = node.attribute("gamma", 1.05070102214813232421875)
    return ops.where(node[0] > 0, node[0], ops.exp(node[0]) * alpha - alpha) * gamma


@onnx_op("HardSigmoid")
def _hard_sigmoid(node: Node) -> TensorValue:
    alpha, beta = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    return ops.max(ops.min(node[0] * alpha + beta, 1.0), 0.0)


@onnx_op("HardSwish")
def _hard_swish(node: Node) -> TensorValue:
    return node[0] * ops.max(ops.min(node[0] / 6.0 + 0.5, 1.0), 0.0)


@onnx_op("Shrink")
def _shrink(node: Node) -> TensorValue:
    x, bias, limit = node[0], node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    zero = x - x
    return ops.where(x < -limit, x + bias, ops.where(x > limit, x - bias, zero))


@onnx_op("Softmax", "LogSoftmax")
def _softmax(node: Node) -> TensorValue:
    op = ops.softmax if node.op == "Softmax" else ops.logsoftmax
    x = node[0]
    if node.opset >= 13:
        return op(x, node.attribute("axis", -1))
    # Before opset 13 all axes from `axis` on are one.
    (axis,) = axes_of([node.attribute("axis", 1)], x.rank)
    flat = ops.flatten(x, axis) if axis < x.rank - 1 else x
    return ops.reshape(op(flat, -1), x.shape)


@onnx_op("Hardmax")
def _hardmax(node: Node) -> TensorValue:
    """1 at the first maximum along the axis."""
    x = node[0]
    (axis,) = axes_of([node.attribute("axis", -1)], x.rank)
    best = ops.argmax(x, axis)
    places = ops.range(0, x.shape[axis], 1, dtype=best.dtype, device=x.device)
    places = ops.reshape(places, [x.shape[axis] if i == axis else 1 for i in range(x.rank)])
    return ops.cast(places == best, x.dtype)
