# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that see every call of every layer while a graph is built."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.driver import Buffer
from kvern.graph import Value

if TYPE_CHECKING:
    from kvern.nn.layer import Layer

__all__ = ["BasePrintHook", "LayerHook", "PrintHook", "add_layer_hook", "clear_hooks", "with_hooks"]

LayerHook = Callable[["Layer", tuple[Any, ...], dict[str, Any], Any], Any]

_HOOKS: list[LayerHook] = []


def add_layer_hook(fn: LayerHook) -> None:
    """Has `fn(layer, args, kwargs, outputs)` called after each call of a layer.

    Hooks are global and run in the order of their registration. When one returns something other than None,
    that replaces the outputs of the layer, also for the hooks after it. A hook that stages ops has to be there
    before the graph is built.

    Args:
        fn: The hook. `args` and `kwargs` are those of the call.
    """
    _HOOKS.append(fn)


def clear_hooks() -> None:
    """Removes all hooks."""
    _HOOKS.clear()


def with_hooks(call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the `__call__` of a layer class so that it runs the hooks."""

    @functools.wraps(call)
    def hooked(self: Layer, *args: Any, **kwargs: Any) -> Any:
        outputs = call(self, *args, **kwargs)
        # A super().__call__() is part of the call of the subclass.
        if type(self).__call__ is not hooked:
            return outputs
        for hook in tuple(_HOOKS):
            replaced = hook(self, args, kwargs, outputs)
            if replaced is not None:
                outputs = replaced
        return outputs

    hooked._runs_hooks = True  # pyright: ignore[reportAttributeAccessIssue]
    return hooked


class BasePrintHook:
    """Prints what layers return; subclasses say how.

    The hook is at work from when it is made until `remove`. Layers have the names that `name_layers` gave them, or
    that of their class; a layer that is called again gets a number behind it.
    """

    def __init__(self, export_path: str | None = None, filter: Iterable[str] | None = None) -> None:
        """Registers the hook.

        Args:
            export_path: Kept, and not used: nothing is written.
            filter: Names of the layers to print; all by default.
        """
        self.export_path = export_path
        self.filter = None if filter is None else set(filter)
        # The layers are kept, for the id of one that is gone may be that of another.
        self._names: dict[int, tuple[Any, str]] = {}
        self._calls: dict[str, int] = {}
        # One object, so that `remove` finds it.
        self._hook = self.__call__
        add_layer_hook(self._hook)

    def name_layers(self, model: Any) -> None:
        """Gives the layers of a model the names of their weights, such as `layers.3.mlp`; the model is `model`.

        Raises:
            TypeError: It is no module.
        """
        if not hasattr(model, "named_modules"):
            raise TypeError(f"expected a Module, but got {model!r}")
        for prefix, layer in model.named_modules():
            self._names[id(layer)] = (layer, prefix.removesuffix(".") or "model")

    def name_layers_v3(self, model: Any) -> None:
        """The same as `name_layers`.

        Raises:
            TypeError: It is no module.
        """
        self.name_layers(model)

    def __call__(self, layer: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        """Prints the outputs of a call; see `add_layer_hook`."""
        name = self._names.get(id(layer), (layer, type(layer).__name__))[1]
        if self.filter is not None and name not in self.filter:
            return
        calls = self._calls[name] = self._calls.get(name, 0) + 1
        name = name if calls == 1 else f"{name}#{calls}"
        several = isinstance(outputs, (list, tuple))
        for i, value in enumerate(outputs if several else [outputs]):
            self.print_value(f"{name}[{i}]" if several else name, value)

    def print_value(self, name: str, value: Any) -> bool:
        """Prints a value, and returns whether it is one that can be printed.

        Raises:
            NotImplementedError: The class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define print_value")

    def remove(self) -> None:
        """Takes the hook away; a second time does nothing."""
        if self._hook in _HOOKS:
            _HOOKS.remove(self._hook)


class PrintHook(BasePrintHook):
    """Prints the name of each layer and the type of what it returns while a graph is built.

    Graphs have no op that prints, so numbers are seen by way of outputs: `values` has what was printed by name.
    Return them from the graph, and give what a run returns to `print_value`:

        hook = PrintHook(filter=["layers.0.mlp"])
        hook.name_layers(model)
        with Graph("model", input_types=types) as graph:
            result = model(*graph.inputs)
            graph.output(result, *hook.values.values())
        hook.remove()
        result, *seen = session.load(graph, weights_registry=model.state_dict()).execute(x)
        for name, value in zip(hook.values, seen):
            hook.print_value(name, value)

    Attributes:
        values: Values of the graph by name, in the order of the calls. Those inside of a subgraph can only be outputs
            of that.
    """

    def __init__(self, export_path: str | None = None, filter: Iterable[str] | None = None) -> None:
        """Registers the hook; see `BasePrintHook`. Make it before the graph is built."""
        self.values: dict[str, Any] = {}
        super().__init__(export_path, filter)

    def print_value(self, name: str, value: Any) -> bool:
        """Prints a line for a value, and returns whether it is one that can be printed.

        Args:
            name: What it is called.
            value: A value of a graph: its type. A Buffer or an array: type, range, mean, and first elements.
        """
        if isinstance(value, Value):
            self.values[name] = value
            print(f"{name}: {value.type}")
            return True
        if isinstance(value, Buffer):
            value = value.to_numpy()
        if not isinstance(value, np.ndarray):
            return False
        shape = ", ".join(map(str, value.shape))
        text = f"{name}: {value.dtype} [{shape}]"
        if value.size:
            numbers = value.astype(np.float64).reshape(-1)
            first = ", ".join(f"{number:.6g}" for number in numbers[:4])
            more = ", ..." if numbers.size > 4 else ""
            text += f" {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}: {first}{more}"
        print(text)
        return True
