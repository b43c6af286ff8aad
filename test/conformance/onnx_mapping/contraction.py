# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products."""

from __future__ import annotations

from kvern.dtype import DType
from kvern.graph import TensorValue, ops

from onnx_mapping.registry import Node, onnx_op


@onnx_op("MatMul")
def _matmul(node: Node) -> TensorValue:
    return ops.matmul(node[0], node[1])


@onnx_op("Gemm")
def _gemm(node: Node) -> TensorValue:
    lhs = node[0].T if node.attribute("transA", 0) else node[0]
    rhs = node[1].T if node.attribute("transB", 0) else node[1]
    result = lhs @ rhs
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    result = result if alpha == 1 else result * alpha
    if not node.has(2):
        return result
    return result + (node[2] if beta == 1 else node[2] * beta)


@onnx_op("MatMulInteger")
def _matmul_integer(node: Node) -> TensorValue:
    lhs, rhs = (ops.cast(node[i], DType.int32) for i in (0, 1))
    if node.has(2):
        zero = ops.cast(node[2], DType.int32)
        lhs = lhs - (ops.unsqueeze(zero, 1) if zero.rank == 1 and int(zero.shape[0]) > 1 else zero)
    if node.has(3):
        rhs = rhs - ops.cast(node[3], DType.int32)
    return lhs @ rhs
