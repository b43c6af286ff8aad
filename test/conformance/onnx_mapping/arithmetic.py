# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise arithmetic, comparison, logic and casts."""

from __future__ import annotations

import functools
from typing import Any

from kvern.dtype import DType
from kvern.graph import TensorValue, ops

from onnx_mapping.registry import MAPPING, Node, NotMapped, dtype_of, onnx_op


def _unary(fn: Any) -> Any:
    return lambda node: fn(node[0])


def _binary(fn: Any) -> Any:
    return lambda node: fn(node[0], node[1])


def _swapped(fn: Any) -> Any:
    return lambda node: fn(node[1], node[0])


def _variadic(fn: Any) -> Any:
    return lambda node: functools.reduce(fn, node.all())


MAPPING.update(
    {
        "Abs": _unary(ops.abs),
        "Acos": _unary(ops.acos),
        "Atanh": _unary(ops.atanh),
        "Ceil": _unary(ops.ceil),
        "Cos": _unary(ops.cos),
        "Erf": _unary(ops.erf),
        "Exp": _unary(ops.exp),
        "Floor": _unary(ops.floor),
        "IsNaN": _unary(ops.is_nan),
        "Log": _unary(ops.log),
        "Neg": _unary(ops.negate),
        "Not": _unary(ops.logical_not),
        "Reciprocal": _unary(lambda x: 1.0 / x),
        "Round": _unary(ops.round),
        "Sin": _unary(ops.sin),
        "Sqrt": _unary(ops.sqrt),
        "Tan": _unary(lambda x: ops.sin(x) / ops.cos(x)),
        "Cosh": _unary(lambda x: (ops.exp(x) + ops.exp(-x)) * 0.5),
        "Sinh": _unary(lambda x: (ops.exp(x) - ops.exp(-x)) * 0.5),
        "Acosh": _unary(lambda x: ops.log(x + ops.sqrt(x * x - 1.0))),
        "Asinh": _unary(lambda x: ops.log(x + ops.sqrt(x * x + 1.0))),
        "Asin": _unary(lambda x: 1.5707963267948966 - ops.acos(x)),
        "Add": _binary(ops.add),
        "Sub": _binary(ops.sub),
        "Mul": _binary(ops.mul),
        "And": _binary(ops.logical_and),
        "Or": _binary(ops.logical_or),
        "Xor": _binary(ops.logical_xor),
        "Equal": _binary(ops.equal),
        "Greater": _binary(ops.greater),
        "GreaterOrEqual": _binary(ops.greater_equal),
        "Less": _swapped(ops.greater),
        "LessOrEqual": _swapped(ops.greater_equal),
        "Max": _variadic(ops.max),
        "Min": _variadic(ops.min),
        "Sum": _variadic(ops.add),
        "Mean": lambda node: functools.reduce(ops.add, node.all()) / len(node),
        "Where": lambda node: ops.where(node[0], node[1], node[2]),
    }
)


@onnx_op("Sign")
def _sign(node: Node) -> TensorValue:
    x = node[0]
    return ops.cast(x > 0, x.dtype) - ops.cast(ops.greater(0, x), x.dtype)


@onnx_op("Div")
def _div(node: Node) -> TensorValue:
    """Integers are divided towards zero."""
    x, y = node[0], node[1]
    if x.dtype.is_float():
        return x / y
    quotient = x // y
    if x.dtype.is_unsigned_integral():
        return quotient
    is_rounded = (quotient * y != x) & ((x < 0) ^ (y < 0))
    return quotient + ops.cast(is_rounded, x.dtype)


@onnx_op("Mod")
def _mod(node: Node) -> TensorValue:
    """With `fmod` the result has the sign of the dividend."""
    x, y = node[0], node[1]
    rest = x % y
    if not node.attribute("fmod", 0) or x.dtype.is_unsigned_integral():
        return rest
    differs = (rest != 0) & ((x < 0) ^ (y < 0))
    return ops.where(differs, rest - y, rest)


@onnx_op("Pow")
def _pow(node: Node) -> TensorValue:
    """The result has the type of the base."""
    x, y = node[0], node[1]
    if y.dtype.is_float() and not x.dtype.is_float():
        return ops.cast(ops.pow(ops.cast(x, DType.float64), ops.cast(y, DType.float64)), x.dtype)
    return ops.pow(x, ops.cast(y, x.dtype))


@onnx_op("IsInf")
def _is_inf(node: Node) -> TensorValue:
    x = node[0]
    result = ops.is_inf(x)
    if not node.attribute("detect_positive", 1):
        result = result & (x < 0)
    if not node.attribute("detect_negative", 1):
        result = result & (x > 0)
    return result


@onnx_op("Clip")
def _clip(node: Node) -> TensorValue:
    x = node[0]
    x = ops.max(x, node[1]) if node.has(1) else x
    return ops.min(x, node[2]) if node.has(2) else x


@onnx_op("Cast", "CastLike")
def _cast(node: Node) -> TensorValue:
    x = node[0]
    dtype = node[1].dtype if node.op == "CastLike" else dtype_of(node.attribute("to"))
    if dtype.is_integral() and x.dtype.is_float() and node.attribute("saturate", 1) != 1:
        raise NotMapped("Cast without saturation")
    return ops.cast(x, dtype)


@onnx_op("Identity")
def _identity(node: Node) -> TensorValue:
    return node[0]


@onnx_op("Dropout")
def _dropout(node: Node) -> Any:
    """Nothing is dropped outside of training."""
    ratio = float(node.known(1, 0.5))
    if bool(node.known(2, False)) and ratio:
        raise NotMapped("Dropout in training")
    x = node[0]
    mask = ops.broadcast_to(ops.constant(True, DType.bool, x.device), x.shape)
    return [x, mask][: len(node.outputs)]
