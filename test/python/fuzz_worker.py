# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages, compiles and runs programs that come as lines of JSON; answers each with a line.

A program has inputs `[dtype, shape]`, steps `[op, arguments, keywords]`, sizes by name of a dim, and feeds: what
the model is run on, `[dtype, shape]` again, or null for arrays that fit. Arguments are JSON, where
`{"value": i}` is a value that there is so far, `{"slice": [a, b, c]}` a slice, `{"dim": name}` a Dim,
`{"dtype": name}` a DType, `{"list": [...]}` a list of such, and `{"ellipsis": 1}` an ellipsis.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from typing import Any

import numpy as np
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.errors import CompileError, KvernError
from kvern.graph import DeviceRef, Dim, Graph, TensorType, TensorValue, ops

# What the API documents besides its own exceptions.
BUILTIN = (TypeError, ValueError, IndexError, NotImplementedError)
MEMORY = 6 << 30


def argument(spec: Any, values: list[Any]) -> Any:
    if not isinstance(spec, dict):
        return spec
    ((kind, content),) = spec.items()
    if kind == "value":
        return values[content % len(values)]
    if kind == "slice":
        return slice(*content)
    if kind == "dim":
        return Dim(content)
    if kind == "dtype":
        return DType[content]
    if kind == "list":
        return [argument(item, values) for item in content]
    if kind == "tuple":
        return tuple(argument(item, values) for item in content)
    return Ellipsis


def allowed(error: BaseException) -> bool:
    """Whether the API may raise it."""
    if isinstance(error, KvernError):
        return not isinstance(error, CompileError)
    # Python itself raises TypeErrors about arguments.
    return type(error) in BUILTIN


def stage(program: dict[str, Any]) -> tuple[Graph, str]:
    """Stages what can be staged; the outputs are all tensors that came of it."""
    types = [TensorType(DType[d], shape, DeviceRef.CPU()) for d, shape in program["inputs"]]
    errors = 0
    with Graph("fuzz", input_types=types) as graph:
        values: list[Any] = [value.tensor for value in graph.inputs]
        made: list[TensorValue] = []
        for name, arguments, keywords in program["steps"]:
            try:
                result = getattr(ops, name)(
                    *(argument(a, values) for a in arguments),
                    **{k: argument(v, values) for k, v in keywords.items()},
                )
            except Exception as error:
                if not allowed(error):
                    raise
                errors += 1
                continue
            results = result if isinstance(result, list) else [result]
            made += [value for value in results if isinstance(value, TensorValue)]
            values += made[len(values) :]
        graph.output(*made)
    return graph, f"{len(program['steps']) - errors} staged, {errors} refused"


def run(program: dict[str, Any]) -> str:
    graph, outcome = stage(program)
    arrays = []
    for dtype, shape in program["inputs"] if program["feeds"] is None else program["feeds"]:
        sizes = [program["sizes"].get(dim, dim) for dim in shape]
        kind = DType[dtype].to_ml_dtypes()
        arrays.append((np.arange(int(np.prod(sizes))) % 5).reshape(sizes).astype(kind))
    try:
        InferenceSession().load(graph).execute(*arrays)
    except Exception as error:
        if not allowed(error):
            raise
        outcome += f", {type(error).__name__} at run time"
    return outcome


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        try:
            answer = {"ok": run(json.loads(line))}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
