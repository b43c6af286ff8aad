# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several linear transformations of one input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from kvern.dtype import DType
from kvern.errors import InputError
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, ops
from kvern.nn._placement import Unsharded, refuse_quantization, refuse_sharding
from kvern.nn._quantization import quantized
from kvern.nn.layer import Module
from kvern.nn.linear import Linear

__all__ = ["StackedLinear"]


class StackedLinear(Unsharded, Module):
    """Applies several linear transformations to one input, and returns their results side by side.

    Stacked, they have one weight, `weight` of `[sum(out_dims), in_dim]`. Otherwise each has its own under its name,
    and the names stand in the place of the layer's: a `qkv_proj` with the names q_proj, k_proj and v_proj has the
    weight `q_proj.weight` beside those of the layer that owns it.

    Products with separate weights stay apart in the graph: joining them takes as long, and needs a copy of the weights.
    """

    def __init__(
        self,
        in_dim: int,
        out_dims: Sequence[int],
        names: Sequence[str],
        dtype: DType,
        device: DeviceRef,
        stacked: bool = False,
        has_bias: bool = False,
        linear_cls: Callable[..., Linear] = Linear,
        quant_config: Any = None,
        clip_weight: float | None = None,
        _is_sharding: bool = False,
        *,
        quantization_encoding: Any = None,
    ) -> None:
        """Declares the weights.

        Args:
            in_dim: Size of the last axis of the input.
            out_dims: Size of the last axis of each result.
            names: Names of the transformations.
            dtype: Element type of the weights.
            device: Where to compute.
            stacked: Whether they have one weight.
            has_bias: Whether they have biases.
            linear_cls: Class of each, or of the stack.
            quant_config: The configuration of the encoding; see `Linear`.
            clip_weight: Bound of the weights; see `Linear`.
            _is_sharding: Not supported.
            quantization_encoding: How the weights are stored, when they are quantized; see `Linear`.

        Raises:
            ValueError: There are not as many names as sizes, or none, or a name is taken.
            NotImplementedError: An option is not supported.
        """
        super().__init__()
        refuse_sharding("StackedLinear", _is_sharding)
        if quantization_encoding is None:
            refuse_quantization("StackedLinear", quant_config=quant_config)
        self.out_dims, self.names = list(out_dims), list(names)
        if not names or len(self.names) != len(self.out_dims) or len(set(names)) < len(self.names):
            raise InputError(
                "StackedLinear: expected as many names as out_dims, at least one and all different, but got "
                f"names={self.names} and out_dims={self.out_dims}"
            )
        self.stacked = stacked
        linear = partial(linear_cls, in_dim, dtype=dtype, device=device, has_bias=has_bias)
        if clip_weight is not None:
            linear = partial(linear, clip_weight=clip_weight)
        linear = quantized(linear, quantization_encoding, quant_config)
        if stacked:
            self._stack = linear(sum(self.out_dims))
            self._stack._omit_module_attr_name = True
            return
        self._omit_module_attr_name = True
        for name, size in zip(self.names, self.out_dims, strict=True):
            if hasattr(self, name):
                raise InputError(f"StackedLinear: expected names that are free, but got {name!r}")
            setattr(self, name, linear(size))

    @property
    def linears(self) -> list[Linear]:
        """The stack alone, or each transformation."""
        return [self._stack] if self.stacked else [getattr(self, name) for name in self.names]

    @property
    def stacked_weight(self) -> TensorValue:
        """The weights one below the other, `[sum(out_dims), in_dim]`, bounded by `clip_weight`."""
        for layer in self.linears:
            encoding = layer.weight.quantization_encoding
            if encoding is not None:
                refuse_quantization("StackedLinear.stacked_weight", encoding=encoding)
        return ops.concat([layer._bounded_weight() for layer in self.linears], 0)

    @property
    def stacked_bias(self) -> TensorValue | None:
        """The biases one behind the other, `[sum(out_dims)]`; None when there are none."""
        biases = [layer.bias.to(layer.device) for layer in self.linears if layer.bias is not None]
        return ops.concat(biases, 0) if biases else None

    def parts(self, x: TensorValueLike) -> list[TensorValue]:
        """Returns the result of each transformation, `[..., out_dim]`.

        Args:
            x: `[..., in_dim]`.

        Raises:
            ValueError: The last axis is not in_dim, or the element types have no common one.
        """
        if not self.stacked:
            return [layer(x) for layer in self.linears]
        bounds = [sum(self.out_dims[:i]) for i in range(len(self.out_dims) + 1)]
        y = self._stack(x)
        return [y[..., start:stop] for start, stop in pairwise(bounds)]

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns the results side by side, `[..., sum(out_dims)]`.

        Args:
            x: `[..., in_dim]`.

        Raises:
            ValueError: The last axis is not in_dim, or the element types have no common one.
        """
        return self._stack(x) if self.stacked else ops.concat(self.parts(x), -1)
