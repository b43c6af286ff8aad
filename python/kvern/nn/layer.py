# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base classes of all layers."""

from __future__ import annotations

from abc import ABC
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvern.graph import Graph, Type, Weight
from kvern.nn import _state, _subgraph
from kvern.nn.hooks import add_layer_hook, clear_hooks, with_hooks

if TYPE_CHECKING:
    from kvern.driver import DLPackArray
    from kvern.engine import InferenceSession, Model
    from kvern.graph import Module as GraphModule

__all__ = ["Layer", "Module", "add_layer_hook", "clear_hooks"]


class Layer:
    """Base class for neural network components.

    Calling a layer runs the hooks of `add_layer_hook`. New layers derive from `Module`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Makes calls of the class run the hooks."""
        super().__init_subclass__(**kwargs)
        if not hasattr(cls.__call__, "_runs_hooks"):
            cls.__call__ = with_hooks(cls.__call__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Stages the computation of the layer; subclasses define it.

        Raises:
            NotImplementedError: The class does not define `__call__`.
        """
        raise NotImplementedError(f"{type(self).__qualname__} does not define __call__")


class Module(Layer, ABC):
    """Base class for model components with weight management.

    A `Weight` or a `Module` that is assigned to an attribute belongs to the module. Weights are named by the
    path of attributes that leads to them:

        class Linear(nn.Module):
            def __init__(self, in_dims, out_dims):
                super().__init__()
                self.weight = Weight("weight", DType.float32, (in_dims, out_dims), DeviceRef.CPU())

            def __call__(self, x):
                return x @ self.weight.T

        class MLP(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = Linear(5, 10)
                self.gate = Linear(5, 10)
                self.down = Linear(10, 5)

            def __call__(self, x):
                return self.down(ops.silu(self.gate(x)) + self.up(x))

        MLP().state_dict()  # {"up.weight": ..., "gate.weight": ..., "down.weight": ...}

    The weights get these names when `state_dict` or `load_state_dict` is called; until then each has the name
    it was made with. A module or weight that is reachable on several paths is counted once, on the first path in
    breadth-first order. Lists and dicts of modules are not looked into: use `LayerList`.

    Attributes:
        _omit_module_attr_name: Whether the module adds nothing to the names of the weights below it; set it in a
            class or on an object.
    """

    _omit_module_attr_name: bool = False
    _layer_weights: dict[str, Weight]
    _sublayers: dict[str, Module]
    _shared_weights: set[str]
    _weight_values: dict[str, DLPackArray]

    def __init__(self) -> None:
        """Makes the module ready for attributes; call it before assigning any."""
        super().__init__()
        # Not through __setattr__, which needs them; kept when another base's __init__ comes here again.
        if "_sublayers" not in vars(self):
            object.__setattr__(self, "_layer_weights", {})
            object.__setattr__(self, "_sublayers", {})
            object.__setattr__(self, "_shared_weights", set())
            object.__setattr__(self, "_weight_values", {})

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; a weight or a module becomes part of this module."""
        if isinstance(value, (Weight, Module)) and "_sublayers" not in vars(self):
            raise AttributeError(
                f"{type(self).__qualname__}: call super().__init__() before assigning '{name}'"
            )
        super().__setattr__(name, value)
        self._forget(name)
        if isinstance(value, Weight):
            self._layer_weights[name] = value
        elif isinstance(value, Module):
            self._sublayers[name] = value

    def __delattr__(self, name: str) -> None:
        """Deletes an attribute; a weight or a module leaves this module."""
        super().__delattr__(name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        if "_sublayers" in vars(self):
            for table in (self._layer_weights, self._sublayers, self._weight_values):
                table.pop(name, None)
            self._shared_weights.discard(name)

    @property
    def layer_weights(self) -> dict[str, Weight]:
        """The weights that the module itself owns, by attribute; those shared with it are left out."""
        return {k: w for k, w in self._layer_weights.items() if k not in self._shared_weights}

    @property
    def sublayers(self) -> dict[str, Module]:
        """The modules directly below this one, by attribute."""
        return dict(self._sublayers)

    def set_shared_weight(self, name: str, weight: Weight) -> None:
        """Uses a weight that another module owns.

        Args:
            name: The attribute that is set to the weight. State dicts do not list it here.
            weight: The weight.
        """
        setattr(self, name, weight)
        self._shared_weights.add(name)

    def replace_module(self, name: str, module: Module) -> None:
        """Puts a module in the place of the child `name`.

        Raises:
            KeyError: There is no such child.
            TypeError: `module` is no Module.
        """
        self._check_child(name, module)
        setattr(self, name, module)

    def _check_child(self, name: str, module: Module) -> None:
        if name not in self.sublayers:
            children = ", ".join(self.sublayers) or "none"
            raise KeyError(f"{type(self).__qualname__} has no child '{name}'; it has: {children}")
        if not isinstance(module, Module):
            raise TypeError(f"expected a Module as child '{name}', but got {module!r}")

    def named_modules(self) -> Iterable[tuple[str, Module]]:
        """Yields (prefix, module) for this module and all below it.

        The order is breadth first, and each module comes once. The prefix is what `raw_state_dict` puts before
        the names of the module's own weights: empty for this module, `"layers.3.mlp."` for one below. A module
        with `_omit_module_attr_name` has the prefix of its parent.
        """
        seen = {id(self)}
        queue: deque[tuple[str, Module]] = deque([("", self)])
        while queue:
            prefix, module = queue.popleft()
            yield prefix, module
            for name, child in module.sublayers.items():
                if id(child) not in seen:
                    seen.add(id(child))
                    omit = child._omit_module_attr_name
                    queue.append((prefix if omit else f"{prefix}{name}.", child))

    def _owned_weights(self) -> Iterator[tuple[str, Module, str]]:
        """Yields the full name, the owner and the attribute of each weight once."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, weight in module.layer_weights.items():
                if id(weight) not in seen:
                    seen.add(id(weight))
                    yield prefix + name, module, name

    def raw_state_dict(self) -> dict[str, Weight]:
        """Returns the weights of the model by full name.

        Their `align`, `dtype`, `quantization_encoding` and `shape` may be changed before a graph is built.

        Raises:
            ValueError: Two weights have the same name, because a module between them omits its own.
        """
        return {place.name: place.weight for place in _state.places(self._owned_weights())}

    def state_dict(self, auto_initialize: bool = True) -> dict[str, DLPackArray]:
        """Returns the values of all weights by full name, and gives the weights these names.

        Args:
            auto_initialize: Whether weights without a value become zeros.

        Raises:
            ValueError: A weight has no value and `auto_initialize` is False; all such weights are named.
        """
        return _state.values(self._owned_weights(), auto_initialize)

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        *,
        override_quantization_encoding: bool = False,
        weight_alignment: int | None = None,
        strict: bool = True,
    ) -> None:
        """Sets the values of all weights, and gives the weights their full names.

        Values are kept as they are, not copied. When anything is wrong, nothing is changed.

        Args:
            state_dict: Arrays (NumPy, Buffer, DLPack) or WeightData by full name; see `raw_state_dict`.
            override_quantization_encoding: Whether the encoding of a value replaces that of the weight.
            weight_alignment: Alignment in bytes that every weight gets; by default that of its dtype.
            strict: Whether it is an error when weights are missing or unknown.

        Raises:
            ValueError: Names are missing or unknown (all are listed), or a value has another dtype, shape,
                encoding or alignment than its weight (all are listed).
        """
        _state.load(
            self._owned_weights(),
            state_dict,
            override_quantization_encoding=override_quantization_encoding,
            weight_alignment=weight_alignment,
            strict=strict,
        )

    def build_subgraph(self, name: str, inputs: Sequence[Any], weight_prefix: str = "") -> Graph:
        """Builds a subgraph of the layer, to be called by `ops.call` for each layer like this one.

        Args:
            name: Name of the subgraph, unique in the graph that is being built.
            inputs: A value of the graph for each argument of `__call__`, or a tree of values: lists, tuples,
                dicts, and objects with `__tree_flatten__` and `__tree_unflatten__`. Only their types matter.
                Give `ops.call` the leaves of such trees, in order.
            weight_prefix: Weights whose name starts with it become placeholders: each call binds them to the
                weights `prefix + rest of the name`. Others are the same in all calls.

        Raises:
            TypeError: Something in `inputs` is no tree of values.
            ValueError: The name is taken, or no graph is being built.
        """
        return _subgraph.build(self, name, inputs, weight_prefix)

    def trace(
        self,
        *input_types: Type,
        name: str | None = None,
        module: GraphModule | None = None,
        custom_extensions: Iterable[Path] = (),
        is_device_graph: bool = False,
    ) -> Graph:
        """Stages `__call__` into a graph, which is not compiled.

        `__call__` gets one input a type and returns a value, a sequence of values, or None. Weights keep the
        names they have: call `state_dict` or `load_state_dict` first when the values come from there.

        Args:
            *input_types: Types of the inputs.
            name: Name of the graph; that of the class by default.
            module: Container that the graph is added to, to compile several into one executable.
            custom_extensions: Paths of libraries of custom kernels.
            is_device_graph: Whether to build a device graph.

        Raises:
            TypeError: `__call__` returned something else.
        """
        with Graph(
            name or type(self).__qualname__,
            input_types=input_types,
            custom_extensions=list(custom_extensions),
            module=module,
            is_device_graph=is_device_graph,
        ) as graph:
            graph.output(*_subgraph.outputs_of(self(*graph.inputs)))
        return graph

    def compile(
        self,
        *input_types: Type,
        session: InferenceSession,
        weights: Mapping[str, Any] | None = None,
        name: str | None = None,
        custom_extensions: Iterable[Path] = (),
        is_device_graph: bool = False,
    ) -> Model:
        """Traces the module, compiles the graph, and binds the weights.

        Args:
            *input_types: Types of the inputs.
            session: What compiles and initializes.
            weights: Values by the names the weights have in the graph; `state_dict()` by default.
            name: Name of the graph; that of the class by default.
            custom_extensions: Paths of libraries of custom kernels.
            is_device_graph: Whether to build a device graph.

        Returns:
            The model, ready to run.
        """
        # Before the trace: it gives the weights their names.
        values = self.state_dict() if weights is None else weights
        graph = self.trace(
            *input_types,
            name=name,
            custom_extensions=custom_extensions,
            is_device_graph=is_device_graph,
        )
        # A state dict may hold weights that `__call__` does not use.
        return session.load(graph, weights_registry=values, strict=weights is not None)
