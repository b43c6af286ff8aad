# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one place that adds ops to a graph.

An op gets the location of the user's line that staged it. When type inference or a verifier refuses it, the
diagnostic becomes a kvern exception that begins with that line, and the graph is as it was before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kvern.errors import DeviceError, DTypeError, GraphError, ShapeError
from kvern.graph._dim_names import check_dim_names, learn_dim_names
from kvern.graph._mlir import bindings
from kvern.graph._source import located, user_frame, user_stack

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, Value

__all__ = ["classify", "current_location", "raise_diagnostic", "stage", "stage_tensor"]

_OP_PREFIX = re.compile(r"^'kvern\.[\w.]+' op ")
# How ODS words a constraint on an operand; we say "expected ..., but got ...".
_ODS_OPERAND = re.compile(r"^operand #(\d+) must be (?:variadic of )?(.*?), but got '?(.*?)'?$")
# What a message is about, tried in order; all are GraphErrors.
_SUBJECTS: tuple[tuple[re.Pattern[str], type[GraphError]], ...] = (
    (re.compile(r"\bdevices?\b"), DeviceError),
    (re.compile(r"\b(element types?|dtypes?|to be a (tensor|buffer)\b)"), DTypeError),
    (
        re.compile(r"\b(shapes?|sizes?|rank|ranks|axis|axes|dims?|dimensions?|elements|bounds?)\b"),
        ShapeError,
    ),
)
# Shape, element type and device in the text of a type.
_TYPE = re.compile(r"!kvern\.(?:tensor|buffer)<\[(.*?)\], (\w+), (\w+:\d+)>")


def current_location() -> Any:
    """Returns the MLIR location of the user's line; with source tracebacks, of the whole stack."""
    from kvern.graph.graph import Graph

    mlir = bindings()
    make = mlir.ir.Location.file
    if not Graph.debug.source_tracebacks:
        return make(*user_frame(), 0, mlir.context)
    stack = [
        mlir.ir.Location.name(function, make(file, line, 0, mlir.context), mlir.context)
        for file, line, function in user_stack()
    ]
    return mlir.ir.Location.callsite(stack[0], stack[1:], mlir.context) if stack[1:] else stack[0]


def stage(op: str, *operands: Any, as_: str | None = None, **arguments: Any) -> list[Value[Any]]:
    """Adds an op to the current graph and returns its results.

    Args:
        op: The op's name in the dialect, without `kvern.`.
        *operands: Values, or a list of them for a variadic operand.
        as_: The op's name for error messages; `op` by default.
        **arguments: Attributes and optional operands, as the generated builder takes them.

    Raises:
        GraphContextError: No graph is being built, or a value belongs to another one.
        GraphError: The op refuses the operands; a subclass says what is wrong with them.
    """
    from kvern.graph.graph import Graph
    from kvern.graph.value import Value, wrap

    mlir = bindings()
    name = as_ or op
    graph = Graph._current_for(name)
    inputs: list[Any] = []

    def raw(item: Any) -> Any:
        if isinstance(item, list):
            return [raw(entry) for entry in item]
        if not isinstance(item, Value):
            return item
        inputs.append(item._in_graph(graph, name))
        return inputs[-1]

    positional = [raw(operand) for operand in operands]
    keywords = {key: raw(argument) for key, argument in arguments.items()}
    bound = check_dim_names(graph, op, name, keywords)
    built: Any = None
    try:
        with current_location() as location:
            where = graph._insertion_point(name)
            built = mlir.ops[op](*positional, loc=location, ip=where, **keywords)
            built.operation.verify()
    except mlir.ir.MLIRError as error:
        if built is not None:
            built.operation.erase()
        raise_diagnostic(name, error, inputs)
    graph._dim_names |= bound
    results: list[Value[Any]] = [wrap(result, graph) for result in built.operation.results]
    if op == "call":
        learn_dim_names(graph, results)
    return results


def stage_tensor(op: str, *operands: Any, as_: str | None = None, **arguments: Any) -> TensorValue:
    """Adds an op with one tensor result; see `stage`."""
    (result,) = stage(op, *operands, as_=as_, **arguments)
    return result.tensor


def raise_diagnostic(op: str, error: Any, operands: Sequence[Any] = ()) -> NoReturn:
    """Raises what MLIR reported as a kvern exception at the user's line.

    Args:
        op: The op's name for the message.
        error: An `MLIRError`.
        operands: MLIR values whose types a note shows.
    """
    diagnostics = error.error_diagnostics
    messages = [_worded(diagnostic.message) for diagnostic in diagnostics]
    message = messages[0] if messages else str(error)
    notes = messages[1:] + [note.message for diagnostic in diagnostics for note in diagnostic.notes]
    notes = [note for note in notes if not note.startswith("see current operation")]
    notes += [f"operand {i}: {value.type}" for i, value in enumerate(operands)]
    raise located(classify(message), op, message, notes) from None


def _worded(message: str) -> str:
    message = _OP_PREFIX.sub("", message)
    return _ODS_OPERAND.sub(r"expected operand \1 to be a \2, but got \3", message)


def classify(message: str) -> type[GraphError]:
    """Returns the exception class for the text of a diagnostic."""
    for pattern, cls in _SUBJECTS:
        if pattern.search(message):
            return cls
    # "expected A, but got B": whatever differs.
    types = _TYPE.findall(message)
    if len(types) > 1:
        kinds = (ShapeError, DTypeError, DeviceError)
        for kind, expected, got in zip(kinds, types[-2], types[-1], strict=True):
            if expected != got:
                return kind
    return GraphError
