# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pools and padding: windows over `[n, channels, ...]`."""

from __future__ import annotations

from typing import Any

import numpy as np
from kvern.graph import ConvInputLayout, FilterLayout, TensorValue, ops

from onnx_mapping.registry import Node, NotMapped, onnx_op, sizes


def _window(node: Node, spatial: list[int], kernel: list[int]) -> dict[str, list[int]]:
    """Strides, dilations and paddings, (before, after) for each spatial axis."""
    rank = len(spatial)
    strides = list(node.attribute("strides", [1] * rank))
    dilations = list(node.attribute("dilations", [1] * rank))
    pads = list(node.attribute("pads", [0] * (2 * rank)))
    padding = [pads[i + side * rank] for i in range(rank) for side in range(2)]
    mode = node.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        padding = []
        for size, k, stride, dilation in zip(spatial, kernel, strides, dilations, strict=True):
            total = max((-(-size // stride) - 1) * stride + dilation * (k - 1) + 1 - size, 0)
            small, large = total // 2, total - total // 2
            padding += [small, large] if mode == "SAME_UPPER" else [large, small]
    elif mode == "VALID":
        padding = [0] * (2 * rank)
    return {"stride": strides, "dilation": dilations, "padding": padding}


def _as_image(x: TensorValue, window: dict[str, list[int]]) -> TensorValue:
    """A sequence as an image of height 1, its window likewise."""
    window["stride"] = [1, *window["stride"]]
    window["dilation"] = [1, *window["dilation"]]
    window["padding"] = [0, 0, *window["padding"]]
    return ops.unsqueeze(x, 2)


@onnx_op("Conv")
def _conv(node: Node) -> TensorValue:
    x, w = node[0], node[1]
    window = _window(node, sizes(x)[2:], sizes(w)[2:])
    options: dict[str, Any] = {
        "groups": node.attribute("group", 1),
        "bias": node[2] if node.has(2) else None,
        "input_layout": ConvInputLayout.NCHW,
    }
    if x.rank == 5:
        return ops.conv3d(x, w, **window, filter_layout=FilterLayout.FCQRS, **options)
    is_sequence = x.rank == 3
    if is_sequence:
        x, w = _as_image(x, window), ops.unsqueeze(w, 2)
    y = ops.conv2d(x, w, **window, filter_layout=FilterLayout.FCRS, **options)
    return ops.squeeze(y, 2) if is_sequence else y


def _transposed_padding(node: Node, spatial: list[int], window: dict[str, Any], full: Any) -> Any:
    """Paddings for an output of a given shape, or of input size times stride."""
    extra = list(node.attribute("output_padding", [0] * len(spatial)))
    target = node.attribute("output_shape")
    mode = node.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER") and target is None:
        target = [n * s for n, s in zip(spatial, window["stride"], strict=True)]
    if target is None:
        return window["padding"], extra
    padding = []
    for size, wanted, more in zip(full, target, extra, strict=True):
        total = size + more - wanted
        small, large = total // 2, total - total // 2
        padding += [large, small] if mode == "SAME_LOWER" else [small, large]
    if min(padding) < 0:
        raise NotMapped("ConvTranspose to a larger shape")
    return padding, extra


@onnx_op("ConvTranspose")
def _conv_transpose(node: Node) -> TensorValue:
    x, w = node[0], node[1]
    if x.rank == 5:
        raise NotMapped("ConvTranspose of volumes")
    spatial, kernel = sizes(x)[2:], sizes(w)[2:]
    window = _window(node, spatial, kernel)
    if node.attribute("auto_pad", "NOTSET") != "NOTSET":
        window["padding"] = [0] * (2 * len(spatial))
    full = [
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(spatial, window["stride"], window["dilation"], kernel, strict=True)
    ]
    window["padding"], extra = _transposed_padding(node, spatial, window, full)
    is_sequence = x.rank == 3
    if is_sequence:
        x, w, extra = _as_image(x, window), ops.unsqueeze(w, 2), [0, *extra]
    groups = node.attribute("group", 1)
    channels = sizes(x)[1] // groups
    parts = [
        ops.conv2d_transpose(
            part,
            filters,
            **window,
            output_paddings=extra,
            input_layout=ConvInputLayout.NCHW,
            filter_layout=FilterLayout.FCRS,
        )
        for part, filters in zip(
            ops.split(x, [channels] * groups, 1), ops.split(w, [channels] * groups, 0), strict=True
        )
    ]
    y = ops.concat(parts, 1) if groups > 1 else parts[0]
    y = ops.squeeze(y, 2) if is_sequence else y
    if node.has(2):
        bias = node[2]
        y = y + ops.reshape(bias, [sizes(bias)[0]] + [1] * (y.rank - 2))
    return y


def _pool(node: Node, op: Any, **options: Any) -> TensorValue:
    x = node[0]
    kernel = list(node.attribute("kernel_shape"))
    if x.rank == 5:
        raise NotMapped(f"{node.op} of volumes")
    window = _window(node, sizes(x)[2:], kernel)
    is_sequence = x.rank == 3
    if is_sequence:
        x, kernel = _as_image(x, window), [1, *kernel]
    y = op(
        ops.permute(x, [0, 2, 3, 1]),
        kernel,
        **window,
        ceil_mode=bool(node.attribute("ceil_mode", 0)),
        **options,
    )
    y = ops.permute(y, [0, 3, 1, 2])
    return ops.squeeze(y, 2) if is_sequence else y


@onnx_op("MaxPool")
def _max_pool(node: Node) -> TensorValue:
    return _pool(node, ops.max_pool2d)


@onnx_op("AveragePool")
def _average_pool(node: Node) -> TensorValue:
    return _pool(node, ops.avg_pool2d, count_boundary=bool(node.attribute("count_include_pad", 0)))


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: Node) -> TensorValue:
    x = node[0]
    height, width = sizes(x)[2:]
    pool = ops.avg_pool2d if node.op == "GlobalAveragePool" else ops.max_pool2d
    return ops.permute(pool(ops.permute(x, [0, 2, 3, 1]), (height, width)), [0, 3, 1, 2])


@onnx_op("Pad")
def _pad(node: Node) -> TensorValue:
    x = node[0]
    mode = node.attribute("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise NotMapped(f"Pad with mode {mode}")
    pads = node.ints(1, "pads")
    axes = node.known(3, np.arange(x.rank))
    paddings = [0] * (2 * x.rank)
    for i, axis in enumerate(int(axis) % x.rank for axis in np.ravel(axes)):
        paddings[2 * axis], paddings[2 * axis + 1] = pads[i], pads[i + np.size(axes)]
    if min(paddings) < 0:
        raise NotMapped("Pad that crops")
    if mode != "constant":
        return ops.pad(x, paddings, mode)
    value = node[2] if node.has(2) else node.attribute("value", 0)
    return ops.pad(x, paddings, mode, ops.reshape(value, []) if node.has(2) else value)
