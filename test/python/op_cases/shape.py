# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements or rename sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.graph import Dim, Shape, TensorValue, ops

from op_cases.case import ALL, Case, per_dtype, sample

F32 = DType.float32


def _case(op: str, label: str, fn: Any, oracle: Any, *shapes: Any, dims: Any = None) -> Case:
    """One float32 input; a run for each shape."""
    dims = None if dims is None else [dims]
    return Case(op, label, fn, oracle, [(sample(F32, shape),) for shape in shapes], shapes=dims)


def _pair(op: str, label: str, fn: Any, oracle: Any, sizes: Any, dims: Any) -> Case:
    """Two float32 inputs; a run for each pair of shapes."""
    arrays = [(sample(F32, a), sample(F32, b, seed=1)) for a, b in sizes]
    return Case(op, label, fn, oracle, arrays, shapes=dims)


def _moved(dtype: DType) -> Case:
    """Every dtype through permute, concat and broadcast."""
    return Case(
        "permute",
        "",
        lambda x: [ops.permute(x, [1, 0]), ops.concat([x, x], 1), ops.broadcast_to(x, [2, "n", 3])],
        lambda x: [x.T, np.concatenate([x, x], 1), np.broadcast_to(x, (2, *x.shape))],
        [(sample(dtype, [n, 3]),) for n in (0, 1, 37)],
        shapes=[["n", 3]],
    )


def _sizes_of(x: TensorValue) -> list[TensorValue]:
    n, m = x.shape[0], x.shape[1]
    return [
        ops.shape_to_tensor(x.shape),
        ops.shape_to_tensor([n * m + 1, n // 2, 5]),
        TensorValue.from_dim(n * 3 - m),
        TensorValue.from_shape(Shape([m, n])),
    ]


def _sizes_oracle(x: Any) -> list[Any]:
    n, m = x.shape
    return [
        np.array([n, m]),
        np.array([n * m + 1, n // 2, 5]),
        np.array(n * 3 - m),
        np.array([m, n]),
    ]


NM = [(1, 1), (3, 4), (0, 5), (17, 8)]

CASES = [
    *per_dtype(ALL, _moved),
    _case(
        "reshape",
        "static",
        lambda x: ops.reshape(x, [4, 3, 2]),
        lambda x: x.reshape(4, 3, 2),
        (6, 4),
    ),
    _case(
        "reshape",
        "minus-one",
        lambda x: ops.reshape(x, [2, -1]),
        lambda x: x.reshape(2, -1),
        (6, 4),
    ),
    _case("reshape", "to-scalar", lambda x: ops.reshape(x, []), lambda x: x.reshape(()), (1, 1)),
    _case("reshape", "empty", lambda x: ops.reshape(x, [3, 0]), lambda x: x.reshape(3, 0), (0, 4)),
    _case(
        "reshape",
        "heads",
        lambda x: ops.reshape(x, ["b", "s", 4, 2]),
        lambda x: x.reshape(*x.shape[:2], 4, 2),
        (1, 1, 8),
        (2, 5, 8),
        (0, 3, 8),
        dims=["b", "s", 8],
    ),
    _case(
        "reshape",
        "merged",
        lambda x: ops.reshape(x, [Dim("b") * Dim("s"), 8]),
        lambda x: x.reshape(-1, 8),
        (1, 1, 8),
        (2, 5, 8),
        dims=["b", "s", 8],
    ),
    _case(
        "flatten",
        "",
        lambda x: [ops.flatten(x), ops.flatten(x, 1), ops.flatten(x, 0, 1)],
        lambda x: [x.ravel(), x.reshape(x.shape[0], 12), x.reshape(-1, 4)],
        (2, 3, 4),
        (1, 3, 4),
        dims=["n", 3, 4],
    ),
    _case(
        "squeeze",
        "",
        lambda x: [ops.squeeze(x, 1), ops.squeeze(x, -1)],
        lambda x: [x[:, 0], x[..., 0]],
        (3, 1, 1),
        (0, 1, 1),
        dims=["n", 1, 1],
    ),
    _case(
        "unsqueeze",
        "",
        lambda x: [ops.unsqueeze(x, 0), ops.unsqueeze(x, 1), ops.unsqueeze(x, -1)],
        lambda x: [x[None], x[:, None], x[..., None]],
        (3, 2),
        (1, 2),
        dims=["n", 2],
    ),
    _case(
        "transpose",
        "",
        lambda x: [ops.transpose(x, 0, 1), ops.transpose(x, -1, -3), x.T],
        lambda x: [x.swapaxes(0, 1), x.swapaxes(-1, -3), x.swapaxes(-1, -2)],
        (2, 3, 5),
        (1, 3, 17),
        (4, 3, 0),
        dims=["a", 3, "c"],
    ),
    _case(
        "permute",
        "rank-4",
        lambda x: [
            ops.permute(x, [0, 2, 1, 3]),
            ops.permute(x, [3, 1, 2, 0]),
            ops.permute(x, [-1, 0, 1, 2]),
        ],
        lambda x: [x.transpose(0, 2, 1, 3), x.transpose(3, 1, 2, 0), x.transpose(3, 0, 1, 2)],
        (2, 3, 5, 7),
        (1, 3, 1, 7),
        dims=["a", 3, "c", 7],
    ),
    _case(
        "broadcast_to",
        "",
        lambda x: [ops.broadcast_to(x, ["n", 5]), ops.broadcast_to(x, [2, "n", 5])],
        lambda x: [np.broadcast_to(x, (x.shape[0], 5)), np.broadcast_to(x, (2, x.shape[0], 5))],
        (3, 1),
        (1, 1),
        (0, 1),
        dims=["n", 1],
    ),
    _pair(
        "concat",
        "named-axis",
        lambda x, y: [ops.concat([x, y], 0), ops.concat([y, x, y], 0)],
        lambda x, y: [np.concatenate([x, y]), np.concatenate([y, x, y])],
        [((1, 3), (2, 3)), ((0, 3), (4, 3)), ((5, 3), (0, 3))],
        [["n", 3], ["m", 3]],
    ),
    _pair(
        "concat",
        "inner-axis",
        lambda x, y: ops.concat([x, y], -1),
        lambda x, y: np.concatenate([x, y], -1),
        [((3, 2), (3, 5)), ((1, 2), (1, 5))],
        [["n", 2], ["n", 5]],
    ),
    _pair(
        "stack",
        "",
        lambda x, y: [ops.stack([x, y]), ops.stack([x, y], 1), ops.stack([x, y], -1)],
        lambda x, y: [np.stack([x, y]), np.stack([x, y], 1), np.stack([x, y], -1)],
        [((3, 2), (3, 2)), ((0, 2), (0, 2))],
        [["n", 2], ["n", 2]],
    ),
    _case(
        "split",
        "",
        lambda x: ops.split(x, [2, 0, 3], axis=1),
        lambda x: np.split(x, [2, 2], axis=1),
        (3, 5),
        (1, 5),
        dims=["n", 5],
    ),
    _case(
        "split", "first-axis", lambda x: ops.split(x, [1, 3]), lambda x: np.split(x, [1]), (4, 3)
    ),
    _case(
        "chunk",
        "",
        lambda x: ops.chunk(x, 3, axis=1),
        lambda x: np.split(x, 3, axis=1),
        (2, 6),
        (0, 6),
        dims=["n", 6],
    ),
    _case(
        "tile",
        "",
        lambda x: [ops.tile(x, [1, 2]), ops.tile(x, [3, 1])],
        lambda x: [np.tile(x, (1, 2)), np.tile(x, (3, 1))],
        (2, 3),
        (1, 3),
        dims=["n", 3],
    ),
    _case(
        "repeat_interleave",
        "",
        lambda x: [ops.repeat_interleave(x, 3, axis=0), ops.repeat_interleave(x, 2, axis=-1)],
        lambda x: [np.repeat(x, 3, 0), np.repeat(x, 2, -1)],
        (2, 3),
        (1, 3),
        dims=["n", 3],
    ),
    _case(
        "repeat_interleave",
        "flat",
        lambda x: ops.repeat_interleave(x, 2),
        lambda x: np.repeat(x, 2),
        (2, 3),
    ),
    _case(
        "rebind",
        "",
        lambda x: ops.rebind(x, ["n", 4], "four columns") * 2,
        lambda x: x * 2,
        (3, 4),
        (0, 4),
        dims=["n", "m"],
    ),
    _case(
        "rebind",
        "sum-of-sizes",
        lambda x: ops.rebind(ops.concat([x, x], 0), ["k", "m"]) + 1,
        lambda x: np.concatenate([x, x]) + 1,
        (3, 4),
        (1, 2),
        dims=["n", "m"],
    ),
    Case(
        "shape_to_tensor",
        "",
        _sizes_of,
        _sizes_oracle,
        [(sample(F32, shape),) for shape in NM],
        shapes=[["n", "m"]],
    ),
    _case("transfer_to", "", lambda x: ops.transfer_to(x, x.device), lambda x: x, (3, 2)),
    _case(
        "assert_same_device",
        "",
        lambda x: (ops.assert_same_device(x, x), x)[1],
        lambda x: x,
        (3, 2),
    ),
]
