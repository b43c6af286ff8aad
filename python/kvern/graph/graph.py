# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: what a network computes, staged op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from kvern.errors import (
    DTypeError,
    GraphContextError,
    GraphError,
    UnsupportedError,
    WeightError,
)
from kvern.graph._dim_names import learn_dim_names
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph._staging import current_location
from kvern.graph.debug import GraphDebugConfig
from kvern.graph.device import DevicePlacementPolicy
from kvern.graph.dim import SymbolicDim
from kvern.graph.kernel_library import KernelLibrary
from kvern.graph.module import Module
from kvern.graph.type import BufferType, TensorType, Type
from kvern.graph.value import TensorValue, Value, wrap

if TYPE_CHECKING:
    from kvern.graph.weight import Weight

__all__ = ["Graph"]

_active: ContextVar[Graph | None] = ContextVar("kvern.graph", default=None)


class _Current:
    """`Graph.current`: the graph that is being built."""

    def __get__(self, instance: Graph | None, owner: type[Graph]) -> Graph:
        return owner._current_for("Graph.current")


class Graph:
    """A computation with typed inputs and outputs.

    Ops add to the graph whose context is open:

        with Graph("double", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as graph:
            x = graph.inputs[0].tensor
            graph.output(x + x)

    or the graph is made from a function of the inputs, whose result is the output:

        Graph("double", lambda x: x + x, input_types=[...])

    `print(graph)` shows its IR, for reading only.

    Attributes:
        debug: Options that act when graphs are built.
        name: The name.
        inputs: A value for each input type.
        module: The container that the graph is in.
        subgraphs: What `add_subgraph` made, by name.
        strict_device_placement: Unused: no op moves a tensor to the CPU by itself.
        is_device_graph: As given.
    """

    debug: ClassVar[GraphDebugConfig] = GraphDebugConfig()
    current: ClassVar[Graph] = _Current()  # pyright: ignore[reportAssignmentType]

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any] | None = None,
        input_types: Iterable[Type] = (),
        path: Path | None = None,
        *args: Any,
        custom_extensions: Iterable[Path] = (),
        kernel_library: KernelLibrary | None = None,
        module: Module | None = None,
        strict_device_placement: DevicePlacementPolicy = DevicePlacementPolicy.Warn,
        is_device_graph: bool = False,
        **kwargs: Any,
    ) -> None:
        """Makes a graph.

        Args:
            name: Its name, unique in the module.
            forward: Computes the outputs: gets the inputs as values, then `args` and `kwargs`, and returns one
                value, a sequence of them, or None.
            input_types: A TensorType or BufferType for each input.
            path: Must be None: graphs are not loaded from files.
            *args: More arguments of `forward`.
            custom_extensions: Must be empty: custom kernels are not supported.
            kernel_library: As given; it holds no kernels.
            module: The container to add the graph to; a new one by default.
            strict_device_placement: What to do when an op moves a tensor to the CPU by itself; none does.
            is_device_graph: Kept for the caller.
            **kwargs: More arguments of `forward`.

        Raises:
            ValueError: The name is taken, or an input type is no type.
            NotImplementedError: There is a path or a custom extension.
        """
        if path is not None:
            raise located(
                UnsupportedError, "Graph", f"graphs cannot be loaded, but got path {path}"
            )
        self.kernel_library = kernel_library or KernelLibrary()
        self.kernel_library.load_paths(custom_extensions)
        self.strict_device_placement = DevicePlacementPolicy(strict_device_placement)
        self.is_device_graph = is_device_graph
        self._build(name, module or Module(), None, None, input_types)
        self.module.graphs[name] = self
        if forward is not None:
            self._run(forward, args, kwargs)

    def _build(
        self,
        name: str,
        module: Module,
        parent: Graph | None,
        weight_prefix: str | None,
        input_types: Iterable[Type],
    ) -> None:
        self.name = name
        self.module = module
        self.subgraphs: dict[str, Graph] = {}
        self._input_types = list(input_types)
        self._output_types: list[Type] | None = None
        self._weights: dict[str, tuple[Weight, TensorValue]] = {}
        self._weight_prefix = weight_prefix
        self._names = 0
        self._tokens: list[Token[Graph | None]] = []
        for input_type in self._input_types:
            if not isinstance(input_type, Type):
                raise located(DTypeError, "Graph", f"expected input types, but got {input_type!r}")
        mlir = bindings()
        self._symbol = module._claim(name, parent)
        with current_location():
            function_type = mlir.ir.FunctionType.get([t.to_mlir() for t in self._input_types], [])
            where = mlir.ir.InsertionPoint(module.mlir_module.body)
            self._function = mlir.func.FuncOp(
                self._symbol,
                function_type,
                visibility="public" if parent is None else "private",
                ip=where,
            )
            self._block = self._function.add_entry_block()
        self.inputs: Sequence[Value[Any]] = [wrap(arg, self) for arg in self._block.arguments]
        self._dim_names: set[str] = set()
        learn_dim_names(self, self.inputs)

    @classmethod
    def _current_for(cls, op: str) -> Graph:
        """Returns the graph that is being built, for use by `op`."""
        graph = _active.get()
        if graph is None:
            raise located(
                GraphContextError,
                op,
                "expected a graph that is being built, but there is none",
                ["stage ops inside `with Graph(...)`, or in its `forward` function"],
            )
        return graph

    def __enter__(self) -> Graph:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _active.reset(self._tokens.pop())

    def _run(
        self, forward: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        with self:
            result = forward(*self.inputs, *args, **kwargs)
            if result is None:
                self.output()
            elif isinstance(result, (list, tuple)):
                self.output(*result)
            else:
                self.output(result)

    @property
    def input_types(self) -> list[Type]:
        """The types of the inputs."""
        return list(self._input_types)

    @property
    def output_types(self) -> list[Type]:
        """The types of the outputs.

        Raises:
            ValueError: `output` has not been called.
        """
        self._require_output()
        return list(self._output_types or ())

    @property
    def has_output(self) -> bool:
        """Whether `output` has been called."""
        return self._output_types is not None

    def _require_output(self) -> None:
        if not self.has_output:
            raise located(
                GraphError,
                "Graph",
                f"expected graph '{self.name}' to have outputs; call graph.output(...)",
            )

    @property
    def kernel_libraries_paths(self) -> list[Path]:
        """The custom kernel libraries: none."""
        return self.kernel_library.library_paths()

    @staticmethod
    def empty() -> Graph:
        """Returns a graph without inputs and outputs."""
        return Graph("empty", lambda: None)

    def output(self, *outputs: Any) -> None:
        """Ends the graph.

        Args:
            *outputs: What it computes: tensors, or what can be used as one.

        Raises:
            TypeError: An output is a buffer, or cannot be used as a tensor.
            ValueError: The graph has ended already, or a value belongs to another graph.
        """
        from kvern.graph._convert import to_tensor

        with self:
            self._insertion_point("output")
            values = [to_tensor("output", value) for value in outputs]
            raw = [value._in_graph(self, "output") for value in values]
            mlir = bindings()
            with current_location():
                mlir.func.ReturnOp(raw, ip=self._insertion_point("output"))
                inputs = [argument.type for argument in self._block.arguments]
                signature = mlir.ir.FunctionType.get(inputs, [value.type for value in raw])
                self._function.attributes["function_type"] = mlir.ir.TypeAttr.get(signature)
        self._output_types = [value.type for value in values]

    def _insertion_point(self, op: str) -> Any:
        if self.has_output:
            raise located(
                GraphContextError,
                op,
                f"expected a graph without outputs yet, but '{self.name}' has ended",
            )
        return bindings().ir.InsertionPoint(self._block)

    def add_weight(self, weight: Weight, force_initial_weight_on_host: bool = True) -> TensorValue:
        """Returns the tensor of a weight; the first call adds it to the graph.

        Args:
            weight: The weight. Using it in an op does the same.
            force_initial_weight_on_host: Kept for the caller: where a weight lives is part of its type.

        Raises:
            ValueError: Another weight of the graph has its name.
        """
        known = self._weights.get(weight.name)
        if known is not None:
            if known[0] is not weight:
                raise located(
                    WeightError,
                    "Weight",
                    f"expected names that differ, but got two weights named {weight.name!r}",
                    ["a Module names its weights by their path when its state is loaded"],
                )
            return known[1]
        name, prefix = weight.name, self._weight_prefix
        placeholder = prefix is not None and name.startswith(prefix)
        if placeholder and prefix is not None:
            name = name[len(prefix) :]
        mlir = bindings()
        with current_location():
            # At the start, so that it precedes every use.
            operation = mlir.ops["weight"](
                TensorType(weight.dtype, weight.shape, weight.device).to_mlir(),
                name,
                placeholder=placeholder,
                alignment=weight.align,
                ip=mlir.ir.InsertionPoint.at_block_begin(self._block),
            )
        value = wrap(operation.result, self).tensor
        self._weights[weight.name] = (weight, value)
        return value

    def add_subgraph(
        self,
        name: str,
        forward: Callable[..., Any] | None = None,
        input_types: Iterable[Type] = (),
        path: Path | None = None,
        custom_extensions: Iterable[Path] = (),
        devices: Iterable[Any] = (),
        *,
        weight_prefix: str | None = None,
    ) -> Graph:
        """Makes a graph that `ops.call` runs inside this one.

        Args:
            name: Its name, unique in this graph.
            forward: Computes the outputs from the inputs; without it, use the subgraph as a context.
            input_types: The types of its inputs. Their names are the subgraph's own.
            path: Must be None.
            custom_extensions: Must be empty.
            devices: Kept for the caller.
            weight_prefix: Weights whose names start with it become placeholders: the prefix is taken off, and
                that of the call put on. None for no placeholders.

        Raises:
            ValueError: The name is taken.
            NotImplementedError: There is a path or a custom extension.
        """
        if path is not None:
            raise located(
                UnsupportedError, "add_subgraph", f"graphs cannot be loaded, but got path {path}"
            )
        self.kernel_library.load_paths(custom_extensions)
        graph = Graph.__new__(Graph)
        graph.kernel_library = self.kernel_library
        graph.strict_device_placement = self.strict_device_placement
        graph.is_device_graph = self.is_device_graph
        graph._build(name, self.module, self, weight_prefix, input_types)
        self.subgraphs[name] = graph
        if forward is not None:
            graph._run(forward, (), {})
        return graph

    def unique_symbolic_dim(self, name: str) -> SymbolicDim:
        """Returns a dim whose name contains `name` and is new in this graph."""
        used = {
            str(parameter)
            for t in self._input_types
            if isinstance(t, (TensorType, BufferType))
            for parameter in t.shape.parameters
        }
        while True:
            unique = f"unique_{name}_{self._names}"
            self._names += 1
            if unique not in used:
                return SymbolicDim(unique)

    def verify(self) -> None:
        """Checks the graph and its module.

        Raises:
            GraphError: The graph has no output yet, or the IR is inconsistent.
        """
        self.module.verify()

    def __str__(self) -> str:
        parts = [graph._asm() for graph in self._with_subgraphs()]
        return "\n".join(parts)

    def __repr__(self) -> str:
        outputs = self._output_types if self.has_output else "?"
        return f"Graph({self.name!r}, inputs={self._input_types!r}, outputs={outputs!r})"

    def _asm(self) -> str:
        return self._function.operation.get_asm(assume_verified=True, large_elements_limit=16)

    def _with_subgraphs(self) -> list[Graph]:
        inner = [graph for sub in self.subgraphs.values() for graph in sub._with_subgraphs()]
        return [self, *inner]
