# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that hold layers, and layers that stand for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar, overload

from kvern.graph import TensorValue
from kvern.nn.layer import Layer, Module

__all__ = ["Identity", "LayerList", "MissingLayer", "Sequential"]

_T = TypeVar("_T")
_Self = TypeVar("_Self", bound="LayerList")


class LayerList(Module):
    """A list of layers.

    Behaves like a list. The children are named by their index: `layers.0.weight`.
    """

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        """Makes the list.

        Raises:
            TypeError: Something in it is no layer.
        """
        super().__init__()
        self._layers: list[Layer] = []
        self.extend(layers)

    @property
    def sublayers(self) -> dict[str, Module]:
        """The Modules of the list by index."""
        return {str(i): layer for i, layer in enumerate(self._layers) if isinstance(layer, Module)}

    def replace_module(self, name: str, module: Module) -> None:
        """Puts a module in the place of the one at index `name`.

        Raises:
            KeyError: There is no module at that index.
        """
        self._check_child(name, module)
        self._layers[int(name)] = module

    def append(self, layer: Layer) -> None:
        """Adds a layer at the end."""
        self._layers.append(_layer(layer))

    def extend(self, layers: Iterable[Layer]) -> None:
        """Adds layers at the end."""
        self._layers.extend([_layer(layer) for layer in layers])

    def insert(self, i: int, layer: Layer) -> None:
        """Puts a layer before the one at index `i`; those behind it get the next index."""
        self._layers.insert(i, _layer(layer))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self: _Self, index: slice) -> _Self: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self._layers[index])
        return self._layers[index]

    def __setitem__(self, index: int, layer: Layer) -> None:
        self._layers[index] = _layer(layer)

    def __delitem__(self, index: int | slice) -> None:
        del self._layers[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A list cannot be called: call its layers, or use Sequential.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"a {type(self).__name__} is no function: call its layers, or use Sequential"
        )


class Sequential(LayerList):
    """A list of layers of which each gets what the one before it returns."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        """Makes the stack; without layers it returns its input.

        Raises:
            TypeError: Something in it is no layer.
        """
        super().__init__(layers)

    def __call__(self, x: Any) -> Any:
        """Returns the output of the last layer."""
        for layer in self._layers:
            x = layer(x)
        return x


class Identity(Module):
    """Returns its input unchanged."""

    def __call__(self, x: _T) -> _T:
        """Returns x, of any type."""
        return x


class MissingLayer(Module):
    """Holds the place of a layer that another pipeline stage owns, so that the indices of the others stay.

    It has no weights.
    """

    def __call__(self, *args: TensorValue, **kwargs: Any) -> NoReturn:
        """Fails: the layer is not here.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError("this layer belongs to another pipeline stage and cannot be called here")


def _layer(layer: Any) -> Layer:
    if not isinstance(layer, Layer):
        raise TypeError(f"expected a layer, but got {layer!r}")
    return layer
