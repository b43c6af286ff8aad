# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions against PyTorch in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from kvern.dtype import DType
from kvern.graph import ConvInputLayout, FilterLayout, ops

from op_cases.case import FLOATS, Case, per_dtype, sample

functional = torch.nn.functional
F32 = DType.float32


def _torch(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.asarray(array, np.float64)))


def _pad(x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    """x, channels first, with (before, after) of each spatial axis."""
    pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)]
    return functional.pad(x, [size for pair in reversed(pairs) for size in pair])


def _expand(value: int | Sequence[int], count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def convolve(
    x: Any,
    w: Any,
    b: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> np.ndarray:
    """conv2d or conv3d, channels last."""
    rank = np.ndim(x) - 2
    to_first = (0, rank + 1, *range(1, rank + 1))
    padded = _pad(_torch(np.transpose(x, to_first)), _expand(padding, 2 * rank))
    weights = _torch(np.transpose(w, (rank + 1, rank, *range(rank))))
    bias = None if b is None else _torch(b)
    conv = functional.conv2d if rank == 2 else functional.conv3d
    result = conv(padded, weights, bias, stride, 0, dilation, groups).numpy()
    return np.transpose(result, (0, *range(2, rank + 2), 1))


def conv_case(
    label: str,
    x: Sequence[int],
    w: Sequence[int],
    *,
    bias: bool = False,
    dtype: DType = F32,
    dims: Sequence[Any] | None = None,
    more: Sequence[Sequence[int]] = (),
    **options: Any,
) -> Case:
    """A convolution; `more` are further shapes of x for the same executable, whose sizes `dims` names."""
    filter = sample(dtype, w, -1, 1, seed=1)
    extra = [sample(dtype, w[-1:], -1, 1, seed=2)] if bias else []
    name = f"conv{len(x) - 2}d"

    def stage(x: Any, w: Any, b: Any = None) -> Any:
        return getattr(ops, name)(x, w, bias=b, **options)

    return Case(
        name,
        label,
        stage,
        lambda x, w, b=None: convolve(x, w, b, **options),
        [(sample(dtype, shape, -1, 1), filter, *extra) for shape in (x, *more)],
        shapes=None if dims is None else [dims, w, *(array.shape for array in extra)],
        scale=8,
    )


def _kernels() -> list[Case]:
    """Kernels of 1 to 7, odd numbers of channels, asymmetric paddings."""
    cases = []
    for k in range(1, 8):
        p = k // 2
        padding = (p, max(p - 1, 0), 0, p)
        cases.append(
            conv_case(f"kernel-{k}", (2, 9, 13, 5), (k, k, 5, 19), padding=padding, bias=True)
        )
        cases.append(conv_case(f"row-{k}", (1, 3, 17, 3), (1, k, 3, 33), stride=(1, 2)))
    return cases


def _channels() -> list[Case]:
    """Around the widths of vectors and of tiles."""
    return [
        conv_case(f"channels-{c}-{f}", (1, 5, w, c), (3, 3, c, f), padding=1)
        for c, f, w in [(1, 1, 1), (2, 15, 6), (4, 16, 7), (7, 17, 14), (8, 31, 15), (16, 32, 29)]
    ] + [conv_case("channels-64-65", (1, 6, 30, 64), (3, 3, 64, 65), padding=1, bias=True)]


def _groups() -> list[Case]:
    return [
        conv_case("groups", (2, 7, 8, 6), (3, 3, 2, 9), groups=3, padding=1, bias=True),
        conv_case("groups-wide", (1, 5, 9, 40), (3, 3, 20, 66), groups=2, stride=2),
        conv_case("depthwise", (2, 9, 15, 35), (3, 3, 1, 35), groups=35, padding=1, bias=True),
        conv_case("depthwise-5", (1, 11, 12, 16), (5, 5, 1, 16), groups=16, stride=2, padding=2),
        conv_case("depthwise-twice", (1, 6, 7, 5), (3, 2, 1, 10), groups=5),
        conv_case("groups-one-filter", (1, 5, 5, 12), (2, 2, 3, 4), groups=4),
    ]


def _symbolic(dtype: DType) -> Case:
    sizes = [(1, 3, 3), (2, 5, 4), (0, 6, 7), (3, 8, 31), (1, 17, 14)]
    return conv_case(
        "symbolic",
        (1, 12, 12, 6),
        (3, 3, 6, 20),
        dims=["n", "h", "w", 6],
        more=[(*size, 6) for size in sizes],
        stride=2,
        padding=1,
        bias=True,
        dtype=dtype,
    )


def _layouts() -> Case:
    options = {"stride": (2, 1), "padding": (1, 0, 2, 1), "groups": 2}
    x = [sample(F32, (n, 4, h, w), -1, 1) for n, h, w in [(1, 5, 7), (2, 6, 3)]]
    w, b = sample(F32, (10, 2, 3, 2), -1, 1), sample(F32, (10,), -1, 1)

    def oracle(x: Any, w: Any, b: Any) -> Any:
        y = convolve(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), b, **options)
        return y.transpose(0, 3, 1, 2)

    return Case(
        "conv2d",
        "channels-first",
        lambda x, w, b: ops.conv2d(
            x,
            w,
            bias=b,
            input_layout=ConvInputLayout.NCHW,
            filter_layout=FilterLayout.FCRS,
            **options,
        ),
        oracle,
        [(image, w, b) for image in x],
        shapes=[["n", 4, "h", "w"], w.shape, b.shape],
        scale=8,
    )


def _epilogue() -> Case:
    """What follows element by element: a residual and an activation."""
    shape = (2, 10, 9, 17)
    return Case(
        "conv2d",
        "epilogue",
        lambda x, w, r: ops.silu(ops.conv2d(x, w, padding=1) + r),
        lambda x, w, r: (y := convolve(x, w, padding=1) + r) / (1 + np.exp(-y)),
        [
            (
                sample(F32, shape, -1, 1),
                sample(F32, (3, 3, 17, 17), -1, 1),
                sample(F32, shape, seed=3),
            )
        ],
        scale=8,
    )


def _network() -> Case:
    """A residual block with channels first, as PyTorch has it."""
    options: dict[str, Any] = {
        "padding": 1,
        "input_layout": ConvInputLayout.NCHW,
        "filter_layout": FilterLayout.FCRS,
    }

    def stage(x: Any, w: Any, s: Any) -> Any:
        y = ops.relu(ops.conv2d(x, w, **options) * s) + x
        return ops.relu(ops.conv2d(y, w, **options) + y)

    def oracle(x: Any, w: Any, s: Any) -> Any:
        x, w = _torch(x), _torch(w)
        y = functional.relu(functional.conv2d(x, w, padding=1) * _torch(s)) + x
        return functional.relu(functional.conv2d(y, w, padding=1) + y).numpy()

    filter, scale = sample(F32, (6, 6, 3, 3), -0.3, 0.3), sample(F32, (6, 1, 1), 0.5, 1)
    return Case(
        "conv2d",
        "network",
        stage,
        oracle,
        [(sample(F32, (n, 6, h, h + 2), -1, 1), filter, scale) for n, h in [(1, 1), (2, 7)]],
        shapes=[["n", 6, "h", "w"], filter.shape, scale.shape],
        scale=8,
    )


def transposed(
    x: Any,
    w: Any,
    b: Any = None,
    stride: int | Sequence[int] = 1,
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: int | Sequence[int] = 1,
    output_paddings: Sequence[int] = (0, 0),
) -> np.ndarray:
    """conv2d_transpose: what PyTorch gives without padding, then cut."""
    y = functional.conv_transpose2d(
        _torch(np.transpose(x, (0, 3, 1, 2))),
        _torch(np.transpose(w, (3, 2, 0, 1))),
        None if b is None else _torch(b),
        stride,
        0,
        0,
        1,
        dilation,
    )
    y = functional.pad(y, [0, output_paddings[1], 0, output_paddings[0]])
    if b is not None:
        # The rows and columns that were added hold the bias alone.
        mask = functional.pad(torch.ones_like(y), [0, -output_paddings[1], 0, -output_paddings[0]])
        mask = functional.pad(mask, [0, output_paddings[1], 0, output_paddings[0]])
        y = y + (1 - mask) * _torch(b)[:, None, None]
    top, bottom, left, right = padding
    y = y[:, :, top : y.shape[2] - bottom, left : y.shape[3] - right]
    return np.transpose(y.numpy(), (0, 2, 3, 1))


def _transposed(label: str, x: Any, w: Any, bias: bool = False, **options: Any) -> Case:
    arrays = [sample(F32, x, -1, 1), sample(F32, w, -1, 1, seed=1)]
    arrays += [sample(F32, w[2:3], -1, 1, seed=2)] if bias else []
    return Case(
        "conv2d_transpose",
        label,
        lambda x, w, b=None: ops.conv2d_transpose(x, w, bias=b, **options),
        lambda x, w, b=None: transposed(x, w, b, **options),
        [arrays],
        scale=8,
    )


def _transposed_symbolic() -> Case:
    w = sample(F32, (4, 4, 5, 6), -1, 1, seed=1)
    options: dict[str, Any] = {"stride": 2, "padding": (1, 1, 1, 1)}
    return Case(
        "conv2d_transpose",
        "symbolic",
        lambda x, w: ops.conv2d_transpose(x, w, **options),
        lambda x, w: transposed(x, w, **options),
        [(sample(F32, (n, h, k, 6), -1, 1), w) for n, h, k in [(1, 1, 1), (2, 3, 5), (0, 2, 2)]],
        shapes=[["n", "h", "w", 6], w.shape],
        scale=8,
    )


CASES = [
    *_kernels(),
    *_channels(),
    *_groups(),
    *per_dtype(FLOATS, _symbolic),
    _layouts(),
    _epilogue(),
    _network(),
    conv_case("dilated", (1, 11, 13, 4), (3, 2, 4, 18), dilation=(2, 3), padding=(2, 1, 0, 3)),
    conv_case("dilated-strided", (1, 12, 16, 3), (3, 3, 3, 8), dilation=2, stride=3),
    conv_case("stride-over-kernel", (1, 9, 11, 4), (1, 1, 4, 7), stride=(2, 3)),
    conv_case("pointwise", (2, 5, 7, 13), (1, 1, 13, 21), bias=True),
    conv_case("no-batch", (0, 5, 7, 3), (3, 3, 3, 4)),
    conv_case("int", (1, 5, 7, 3), (3, 3, 3, 4), dtype=DType.int32),
    conv_case("", (2, 4, 6, 7, 3), (3, 2, 3, 3, 10), padding=(1, 0, 0, 1, 1, 1), bias=True),
    conv_case("strided", (1, 5, 6, 9, 4), (2, 3, 3, 2, 6), stride=(1, 2, 2), groups=2),
    conv_case("dilated", (1, 7, 6, 9, 2), (3, 3, 2, 2, 5), dilation=(2, 1, 3)),
    _transposed("", (2, 4, 5, 3), (3, 3, 7, 3), bias=True),
    _transposed("strided", (1, 4, 5, 6), (4, 3, 5, 6), stride=(2, 3), padding=(1, 0, 2, 1)),
    _transposed("cropped", (1, 5, 5, 3), (2, 2, 4, 3), stride=2, padding=(3, 2, 2, 4)),
    _transposed("dilated", (1, 3, 4, 2), (3, 2, 4, 2), bias=True, dilation=(2, 3), stride=2),
    _transposed("added", (1, 3, 4, 2), (3, 3, 4, 2), bias=True, stride=2, output_paddings=(1, 0)),
    _transposed("skipping", (1, 3, 2, 4), (2, 1, 5, 4), bias=True, stride=(3, 2)),
    _transposed("wide-stride", (1, 3, 2, 4), (3, 5, 5, 4), stride=5, padding=(1, 0, 2, 1)),
    _transposed_symbolic(),
]
