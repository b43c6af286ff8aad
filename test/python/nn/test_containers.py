# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerList, Sequential, Identity, MissingLayer and hooks. Nothing here is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kvern import nn
from kvern.dtype import DType
from kvern.graph import DeviceRef, Weight


class Add(nn.Module):
    def __init__(self, n: int = 1) -> None:
        super().__init__()
        self.n = n
        self.weight = Weight("w", DType.float32, [n], DeviceRef.CPU())

    def __call__(self, x: int) -> int:
        return x + self.n


class Old(nn.Layer):
    """A layer that is no Module: it has no weights."""

    def __call__(self, x: int) -> int:
        return x * 10


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    nn.clear_hooks()


def sizes(layers: Any) -> list[int]:
    return [layer.n for layer in layers]


def test_list_methods():
    layers = nn.LayerList([Add(1), Add(2)])
    layers.append(Add(3))
    layers.extend([Add(4), Add(5)])
    layers.insert(1, Add(9))
    assert sizes(layers) == [1, 9, 2, 3, 4, 5]
    assert len(layers) == 6
    assert layers[-1].n == 5
    assert isinstance(layers[1:3], nn.LayerList)
    assert sizes(layers[1:3]) == [9, 2]
    layers[0] = Add(7)
    del layers[1]
    assert sizes(layers) == [7, 2, 3, 4, 5]
    assert layers[2] in layers
    assert list(layers.raw_state_dict()) == [f"{i}.weight" for i in range(5)]
    with pytest.raises(IndexError):
        layers[5]


def test_lists_hold_layers_only():
    with pytest.raises(TypeError, match="layer"):
        nn.LayerList([3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="layer"):
        nn.LayerList([]).append(None)  # pyright: ignore[reportArgumentType]


def test_a_list_is_no_function():
    with pytest.raises(NotImplementedError, match="Sequential"):
        nn.LayerList([Add()])(1)


def test_sequential():
    assert nn.Sequential([Add(1), Old(), Add(2)])(1) == 22
    assert nn.Sequential([])(5) == 5
    assert list(nn.Sequential([Old(), Add()]).raw_state_dict()) == ["1.weight"]


def test_identity():
    x = object()
    assert nn.Identity()(x) is x
    assert nn.Identity().state_dict() == {}


def test_missing_layer_keeps_indices():
    layers = nn.LayerList([nn.MissingLayer(), Add(), nn.MissingLayer()])
    assert list(layers.raw_state_dict()) == ["1.weight"]
    with pytest.raises(RuntimeError, match="pipeline stage"):
        layers[0](1)


def test_hooks_see_and_replace():
    seen: list[Any] = []
    nn.add_layer_hook(lambda *call: seen.append(call))
    nn.add_layer_hook(lambda layer, args, kwargs, outputs: outputs + 100)
    nn.add_layer_hook(lambda *call: seen.append(call))
    layer = Add(1)
    assert layer(x=1) == 102
    assert layer(5) == 106
    assert seen[0] == (layer, (), {"x": 1}, 2)
    assert seen[1] == (layer, (), {"x": 1}, 102)
    assert seen[2] == (layer, (5,), {}, 6)
    nn.clear_hooks()
    assert layer(1) == 2


def test_hooks_run_once_for_each_layer():
    class Base(nn.Module):
        def __call__(self, x: int) -> int:
            return x + 1

    class Derived(Base):
        def __call__(self, x: int) -> int:
            return super().__call__(x) * 2

    class Inherited(Derived):
        pass

    seen: list[str] = []
    nn.add_layer_hook(lambda layer, *rest: seen.append(type(layer).__name__))
    assert nn.Sequential([Base(), Derived(), Inherited(), Old()])(1) == 140
    assert seen == ["Base", "Derived", "Inherited", "Old", "Sequential"]


def test_call_of_a_mixin_runs_hooks():
    class Mixin:
        def __call__(self, x: int) -> int:
            return x + 1

    class Mixed(Mixin, nn.Module):
        pass

    nn.add_layer_hook(lambda layer, args, kwargs, outputs: outputs * 2)
    assert Mixed()(1) == 4
