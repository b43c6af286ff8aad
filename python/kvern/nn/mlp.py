# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, ops
from kvern.nn._placement import Unsharded, only_device, refuse_quantization, refuse_sharding
from kvern.nn._quantization import quantized
from kvern.nn.bounds import clamp
from kvern.nn.layer import Module
from kvern.nn.linear import Linear

__all__ = ["MLP", "FusedMLP"]

_ACTIVATIONS: dict[str, Callable[[TensorValue], TensorValue]] = {
    "silu": ops.silu,
    "gelu": ops.gelu,
    "gelu_tanh": partial(ops.gelu, approximate="tanh"),
    "relu": ops.relu,
    "tanh": ops.tanh,
    "sigmoid": ops.sigmoid,
}


class MLP(Unsharded, Module):
    """Gated feed-forward network: `y = down(act(gate(x)) * up(x))`.

    Source: Shazeer, "GLU Variants Improve Transformer", 2020.

    Attributes:
        gate_proj: `hidden_dim` to `feed_forward_length`.
        up_proj: `hidden_dim` to `feed_forward_length`.
        down_proj: `feed_forward_length` to `hidden_dim`.
    """

    def __init__(
        self,
        dtype: DType,
        quantization_encoding: Any,
        hidden_dim: int,
        feed_forward_length: int,
        devices: Sequence[DeviceRef],
        linear_cls: Callable[..., Linear] = Linear,
        has_bias: bool = False,
        activation_function: str = "silu",
        quant_config: Any = None,
        swiglu_limit: float = 0.0,
        is_sharding: bool = False,
    ) -> None:
        """Makes the three projections.

        Args:
            dtype: Element type of the weights.
            quantization_encoding: How the weights are stored, when they are quantized; see `Linear`.
            hidden_dim: Size of the last axis of input and output.
            feed_forward_length: Size of the last axis between.
            devices: The one device to compute on.
            linear_cls: Class of the projections.
            has_bias: Whether the projections have a bias.
            activation_function: `"silu"`, `"gelu"`, `"gelu_tanh"`, `"relu"`, `"tanh"` or `"sigmoid"`.
            quant_config: The configuration of the encoding; see `Linear`.
            swiglu_limit: When above 0, `gate(x)` is bounded by it from above and `up(x)` on both sides.
            is_sharding: Not supported.

        Raises:
            ValueError: The activation function is unknown.
            NotImplementedError: An option is not supported, or there are several devices.
        """
        super().__init__()
        name = type(self).__name__
        if quantization_encoding is None:
            refuse_quantization(name, quant_config=quant_config)
        refuse_sharding(name, is_sharding)
        if activation_function not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise ValueError(
                f"{name}: expected an activation function of {known}, but got {activation_function!r}"
            )
        device = only_device(name, devices)
        linear = partial(linear_cls, dtype=dtype, device=device, has_bias=has_bias)
        linear = quantized(linear, quantization_encoding, quant_config)
        self.feed_forward_length = feed_forward_length
        self._declare_inputs(linear, hidden_dim)
        self.down_proj = linear(feed_forward_length, hidden_dim)
        self.activation_function = _ACTIVATIONS[activation_function]
        self.swiglu_limit = swiglu_limit

    def _declare_inputs(self, linear: Callable[..., Linear], hidden_dim: int) -> None:
        self.gate_proj = linear(hidden_dim, self.feed_forward_length)
        self.up_proj = linear(hidden_dim, self.feed_forward_length)

    def _gate_and_up(self, x: TensorValueLike) -> tuple[TensorValue, TensorValue]:
        return self.gate_proj(x), self.up_proj(x)

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the transformed tensor.

        Args:
            x: `[..., hidden_dim]`.

        Returns:
            `[..., hidden_dim]`.

        Raises:
            ValueError: The last axis is not hidden_dim, or the element types have no common one.
        """
        gate, up = self._gate_and_up(x)
        if self.swiglu_limit > 0:
            gate = clamp(gate, max=self.swiglu_limit)
            up = clamp(up, -self.swiglu_limit, self.swiglu_limit)
        return self.down_proj(self.activation_function(gate) * up)


class FusedMLP(MLP):
    """The network of `MLP` whose gate and up projections have one weight, that of the gate first.

    Attributes:
        gate_up_proj: `hidden_dim` to `2 * feed_forward_length`.
        down_proj: `feed_forward_length` to `hidden_dim`.
    """

    def _declare_inputs(self, linear: Callable[..., Linear], hidden_dim: int) -> None:
        self.gate_up_proj = linear(hidden_dim, 2 * self.feed_forward_length)

    def _gate_and_up(self, x: TensorValueLike) -> tuple[TensorValue, TensorValue]:
        both = self.gate_up_proj(x)
        return both[..., : self.feed_forward_length], both[..., self.feed_forward_length :]
