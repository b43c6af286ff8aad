# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numeric cases of every public layer: how to make it, what to run it on, and PyTorch's answer in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef

CPU = DeviceRef.CPU()
functional = torch.nn.functional
FLOATS = (DType.float32, DType.float64, DType.bfloat16)
Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class LayerCase:
    """A layer on inputs of several shapes.

    Attributes:
        layer: Name in `kvern.nn`.
        label: What is special about the case.
        make: Makes the layer for an element type.
        oracle: The same function of the weights by name and of the input, in float64.
        dims: Type of the input.
        shapes: What it is run on.
        scale: Factor on the tolerance.
        dtypes: Element types.
        indices: Whether the input holds indices below this number.
    """

    layer: str
    label: str
    make: Callable[[DType], nn.Module]
    oracle: Callable[[Weights, torch.Tensor], torch.Tensor]
    dims: Sequence[Any]
    shapes: Sequence[Sequence[int]]
    scale: float = 4.0
    dtypes: Sequence[DType] = FLOATS
    indices: int | None = None


def _rows(last: int) -> dict[str, Any]:
    """Inputs `[batch, seq, last]`: odd, of size 1, and empty."""
    shapes = [(1, 1, last), (3, 7, last), (2, 17, last), (0, 5, last), (2, 0, last)]
    return {"dims": ["batch", "seq", last], "shapes": shapes}


def _linear(w: Weights, x: torch.Tensor) -> torch.Tensor:
    return functional.linear(x, w["weight"], w.get("bias"))


def _mlp(activation: Callable[..., Any], limit: float = 0.0) -> Callable[..., torch.Tensor]:
    def oracle(w: Weights, x: torch.Tensor) -> torch.Tensor:
        gate, up = (
            functional.linear(x, w[f"{n}_proj.weight"], w.get(f"{n}_proj.bias"))
            for n in ("gate", "up")
        )
        if limit:
            gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
        return functional.linear(
            activation(gate) * up, w["down_proj.weight"], w.get("down_proj.bias")
        )

    return oracle


def _fused_mlp(w: Weights, x: torch.Tensor) -> torch.Tensor:
    parts = {name: w[f"gate_up_proj.{name}"].chunk(2) for name in ("weight", "bias")}
    split = {
        f"{n}_proj.{name}": parts[name][i] for i, n in enumerate(("gate", "up")) for name in parts
    }
    return _mlp(functional.silu, 0.5)(w | split, x)


def _stacked_linear(w: Weights, x: torch.Tensor) -> torch.Tensor:
    names = [""] if "weight" in w else ["a.", "b.", "c."]
    parts = [functional.linear(x, w[f"{n}weight"].clamp(-0.5, 0.5), w[f"{n}bias"]) for n in names]
    return torch.cat(parts, -1)


def _make_mlp(**options: Any) -> Callable[[DType], nn.Module]:
    return lambda dtype: nn.MLP(dtype, None, 13, 29, [CPU], **options)


def _rms_norm(offset: float = 0.0) -> Callable[..., torch.Tensor]:
    return lambda w, x: functional.rms_norm(x, (x.shape[-1],), w["weight"] + offset, 1e-6)


def _layer_norm(w: Weights, x: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, (x.shape[-1],), w["weight"], w.get("bias"), 1e-5)


def _attention(w: Weights, x: torch.Tensor) -> torch.Tensor:
    """Three heads."""
    names = [n for n in ("qkv_proj", "q_proj", "k_proj", "v_proj") if f"{n}.weight" in w]
    parts = [functional.linear(x, w[f"{n}.weight"], w.get(f"{n}.bias")) for n in names]
    q, k, v = (
        part.unflatten(-1, (3, -1)).transpose(1, 2) for part in torch.cat(parts, -1).chunk(3, -1)
    )
    y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return functional.linear(y, w["o_proj.weight"], w.get("o_proj.bias"))


def _rotary(interleaved: bool, divisor: float = 1.0) -> Callable[..., torch.Tensor]:
    def oracle(w: Weights, x: torch.Tensor) -> torch.Tensor:
        angles = torch.arange(x.shape[1]).double()[:, None] * (
            100.0 ** (-torch.arange(4) / 4) / divisor
        )
        turn = torch.polar(torch.ones_like(angles), angles)[:, None]
        if interleaved:
            return torch.view_as_real(
                torch.view_as_complex(x.unflatten(-1, (4, 2))) * turn
            ).flatten(-2)
        y = torch.complex(x[..., :4].contiguous(), x[..., 4:].contiguous()) * turn
        return torch.cat([y.real, y.imag], -1)

    return oracle


def _heads() -> dict[str, Any]:
    shapes = [(2, 9, 3, 8), (1, 1, 3, 8), (0, 3, 3, 8)]
    return {"dims": ["batch", "seq", 3, 8], "shapes": shapes}


def _stack(w: Weights, x: torch.Tensor) -> torch.Tensor:
    x = functional.linear(x, w["0.weight"])
    return functional.linear(x, w["2.weight"], w["2.bias"])


def _conv(rank: int, permute: bool, **options: Any) -> Callable[..., torch.Tensor]:
    """A convolution; without `permute`, channels and filters are last in what kvern sees."""
    fn = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]

    def oracle(w: Weights, x: torch.Tensor) -> torch.Tensor:
        if permute:
            return fn(x, w["weight"], w.get("bias"), **options)
        weight = w["weight"].permute(rank + 1, rank, *range(rank))
        y = fn(x.movedim(-1, 1), weight, w.get("bias"), **options)
        return y.movedim(1, -1)

    return oracle


def _conv_transpose(permute: bool, norm: bool = False, **options: Any) -> Callable[..., Any]:
    def oracle(w: Weights, x: torch.Tensor) -> torch.Tensor:
        weight = w["weight_v" if norm else "weight"]
        weight = weight if permute else weight.permute(2, 1, 0)
        if norm:
            length = weight.square().sum((1, 2), keepdim=True).sqrt()
            weight = weight / length * w["weight_g"]
        x = x if permute else x.movedim(-1, 1)
        y = functional.conv_transpose1d(x, weight, w.get("bias"), **options)
        return y if permute else y.movedim(1, -1)

    return oracle


def _images(channels: int, rank: int, permute: bool) -> dict[str, Any]:
    """Inputs of `rank` spatial axes: odd, small, and no batch."""
    sizes = [(9, 7, 8)[:rank], (3, 4, 3)[:rank]]
    names = ["d", "h", "w"][:rank]
    batches = [2, 1, 0]

    def shape(batch: Any, spatial: Sequence[Any]) -> list[Any]:
        return [batch, channels, *spatial] if permute else [batch, *spatial, channels]

    shapes = [shape(b, sizes[i % 2]) for i, b in enumerate(batches)]
    return {"dims": shape("batch", names), "shapes": shapes, "scale": 16.0}


class _ListOfTwo(nn.Module):
    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.layers = nn.LayerList([nn.Linear(13, 13, dtype, CPU) for _ in range(2)])

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def _list_of_two(w: Weights, x: torch.Tensor) -> torch.Tensor:
    return functional.linear(functional.linear(x, w["layers.0.weight"]), w["layers.1.weight"])


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
_F32 = (DType.float32,)

CASES = [
    LayerCase("Linear", "", lambda d: nn.Linear(13, 9, d, CPU), _linear, **_rows(13)),
    LayerCase(
        "Linear", "bias", lambda d: nn.Linear(13, 1, d, CPU, has_bias=True), _linear, **_rows(13)
    ),
    LayerCase("Linear", "one", lambda d: nn.Linear(1, 1, d, CPU, True), _linear, **_rows(1)),
    LayerCase(
        "Linear",
        "clipped",
        lambda d: nn.Linear(13, 9, d, CPU, clip_weight=0.25),
        lambda w, x: functional.linear(x, w["weight"].clamp(-0.25, 0.25)),
        **_rows(13),
    ),
    LayerCase(
        "Embedding",
        "",
        lambda d: nn.Embedding(11, 5, d, CPU),
        lambda w, x: functional.embedding(x, w["weight"]),
        ["batch", "seq"],
        [(1, 1), (3, 7), (0, 4)],
        indices=11,
    ),
    LayerCase("MLP", "", _make_mlp(), _mlp(functional.silu), scale=16.0, **_rows(13)),
    LayerCase(
        "MLP", "bias", _make_mlp(has_bias=True), _mlp(functional.silu), scale=16.0, **_rows(13)
    ),
    LayerCase(
        "MLP",
        "limit",
        _make_mlp(swiglu_limit=0.5),
        _mlp(functional.silu, 0.5),
        scale=16.0,
        **_rows(13),
    ),
    *(
        LayerCase("MLP", n, _make_mlp(activation_function=n), _mlp(fn), dtypes=_F32, **_rows(13))
        for n, fn in _ACTIVATIONS.items()
    ),
    LayerCase(
        "FusedMLP",
        "",
        lambda d: nn.FusedMLP(d, None, 13, 29, [CPU], has_bias=True, swiglu_limit=0.5),
        _fused_mlp,
        scale=16.0,
        dtypes=_F32,
        **_rows(13),
    ),
    *(
        LayerCase(
            "StackedLinear",
            "stacked" if stacked else "",
            lambda d, s=stacked: nn.StackedLinear(
                13, [4, 1, 7], ["a", "b", "c"], d, CPU, s, has_bias=True, clip_weight=0.5
            ),
            _stacked_linear,
            dtypes=_F32,
            **_rows(13),
        )
        for stacked in (False, True)
    ),
    LayerCase("RMSNorm", "", lambda d: nn.RMSNorm(13, d), _rms_norm(), **_rows(13)),
    LayerCase("RMSNorm", "one", lambda d: nn.RMSNorm(1, d), _rms_norm(), **_rows(1)),
    LayerCase(
        "RMSNorm",
        "gemma",
        lambda d: nn.RMSNorm(13, d, weight_offset=1.0),
        _rms_norm(1.0),
        **_rows(13),
    ),
    LayerCase(
        "RMSNorm",
        "llama",
        lambda d: nn.RMSNorm(13, d, multiply_before_cast=False),
        _rms_norm(),
        **_rows(13),
    ),
    LayerCase("LayerNorm", "", lambda d: nn.LayerNorm(13, [CPU], d), _layer_norm, **_rows(13)),
    LayerCase(
        "LayerNorm",
        "no-bias",
        lambda d: nn.LayerNorm(13, [CPU], d, use_bias=False),
        _layer_norm,
        **_rows(13),
    ),
    LayerCase(
        "MultiheadAttention",
        "",
        lambda d: nn.MultiheadAttention(3, 12, [CPU], d),
        _attention,
        **_rows(12) | {"scale": 16.0},
    ),
    LayerCase(
        "MultiheadAttention",
        "stacked",
        lambda d: nn.MultiheadAttention(3, 12, None, d, None, True, True, stacked_qkv=True),
        _attention,
        **_rows(12) | {"scale": 16.0},
    ),
    LayerCase(
        "LinearScalingParams",
        "",
        lambda d: nn.RotaryEmbedding(24, 3, 100.0, 8, scaling_params=nn.LinearScalingParams(2.0)),
        _rotary(True, 2.0),
        dtypes=_F32,
        **_heads(),
    ),
    *(
        LayerCase(
            "RotaryEmbedding",
            "interleaved" if order else "halves",
            lambda d, o=order: nn.RotaryEmbedding(24, 3, 100.0, 8, interleaved=o),
            _rotary(order),
            dtypes=(DType.float32, DType.bfloat16),
            **_heads(),
        )
        for order in (True, False)
    ),
    LayerCase(
        "Sequential",
        "",
        lambda d: nn.Sequential(
            [nn.Linear(13, 7, d, CPU), nn.Identity(), nn.Linear(7, 3, d, CPU, has_bias=True)]
        ),
        _stack,
        **_rows(13),
    ),
    *(
        case
        for permute in (False, True)
        for label in ["permute" if permute else ""]
        for case in (
            LayerCase(
                "Conv1D",
                label,
                lambda d, p=permute: nn.Conv1D(
                    3, 4, 6, d, 2, 1, num_groups=2, has_bias=True, permute=p
                ),
                _conv(1, permute, stride=2, padding=1, groups=2),
                **_images(4, 1, permute),
            ),
            LayerCase(
                "Conv2d",
                label,
                lambda d, p=permute: nn.Conv2d((3, 2), 5, 19, d, 1, (1, 0), permute=p),
                _conv(2, permute, padding=(1, 0)),
                **_images(5, 2, permute),
            ),
            LayerCase(
                "Conv3D",
                label,
                lambda d, p=permute: nn.Conv3D(
                    3, 1, 2, 3, 4, d, padding=(1, 0, 1), has_bias=True, permute=p
                ),
                _conv(3, permute, padding=(1, 0, 1)),
                **_images(3, 3, permute),
            ),
            LayerCase(
                "ConvTranspose1d",
                label,
                lambda d, p=permute: nn.ConvTranspose1d(
                    4, 3, 5, d, 2, 1, 1, 1, has_bias=True, permute=p
                ),
                _conv_transpose(permute, stride=2, padding=1, output_padding=1),
                **_images(3, 1, permute),
            ),
            LayerCase(
                "WeightNormConvTranspose1d",
                label,
                lambda d, p=permute: nn.WeightNormConvTranspose1d(3, 4, 5, d, 2, permute=p),
                _conv_transpose(permute, norm=True, stride=2),
                **_images(4, 1, permute),
            ),
        )
    ),
    LayerCase("LayerList", "", _ListOfTwo, _list_of_two, **_rows(13)),
    LayerCase("Identity", "", lambda d: nn.Identity(), lambda w, x: x, **_rows(13)),
]


def random_weights(module: nn.Module) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        name: rng.uniform(-1, 1, [int(n) for n in w.shape]).astype(w.dtype.to_ml_dtypes())
        for name, w in module.raw_state_dict().items()
    }


def random_input(case: LayerCase, dtype: DType, shape: Sequence[int]) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    if case.indices is not None:
        return rng.integers(0, case.indices, shape)
    return rng.uniform(-2, 2, shape).astype(dtype.to_ml_dtypes())


def expected(case: LayerCase, weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    wide = {name: torch.from_numpy(w.astype(np.float64)) for name, w in weights.items()}
    data = torch.from_numpy(x if case.indices is not None else x.astype(np.float64))
    return case.oracle(wide, data).numpy()
