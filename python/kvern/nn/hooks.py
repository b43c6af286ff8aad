# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that see every call of every layer while a graph is built."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvern.nn.layer import Layer

__all__ = ["LayerHook", "add_layer_hook", "clear_hooks", "with_hooks"]

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
