# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX node tests on kvern: translates their models, compiles many at a time, compares.

    python test/conformance/onnx_nodes.py            all tests of onnx_node_tests.txt
    python test/conformance/onnx_nodes.py softmax    those with "softmax" in their name

The file lists the node tests on which two independent implementations agree.
"""

from __future__ import annotations

import argparse
import collections
import functools
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.errors import KvernError
from kvern.graph import Graph, Module, TensorType
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from onnx_mapping import MAPPING, Entry, Node, NotMapped, dtype_of
from onnx_mapping.registry import CPU
from tolerances import TOLERANCE

NAMES = Path(__file__).with_name("onnx_node_tests.txt")
# Graphs in one executable.
_BATCH = 48


@dataclass
class Report:
    """What became of the tests.

    Attributes:
        passed: Names of the tests that gave the right numbers.
        failed: Why each other mapped test failed.
        not_mapped: What each test needs that the mapping does not have.
    """

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    not_mapped: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        run = len(self.passed) + len(self.failed)
        return (
            f"ONNX node tests: {run} run, {len(self.passed)} passed, {len(self.failed)} failed, "
            f"{len(self.not_mapped)} not yet mapped"
        )


@functools.cache
def all_tests() -> dict[str, Any]:
    """The node tests that the onnx package makes, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def listed_names() -> list[str]:
    return NAMES.read_text().split()


def run_tests(names: Sequence[str]) -> Report:
    """Runs the tests of these names."""
    report = Report()
    tests = all_tests()
    for i in range(0, len(names), _BATCH):
        _run_batch([tests[name] for name in names[i : i + _BATCH] if name in tests], report)
    return report


def _run_batch(tests: Sequence[Any], report: Report) -> None:
    mapped = []
    for test in tests:
        try:
            translate(test, Module())
            mapped.append(test)
        except NotMapped as reason:
            report.not_mapped[test.name] = str(reason)
        except KvernError as error:
            report.failed[test.name] = f"{type(error).__name__}: {error}"
    for test, model in _compiled(mapped):
        problem = str(model) if isinstance(model, Exception) else _compare(test, model)
        if problem:
            report.failed[test.name] = problem
        else:
            report.passed.append(test.name)


def _compiled(tests: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """A model, or the error, for each test; compiled together, and one by one when that fails."""
    session = InferenceSession()
    try:
        module = Module()
        for test in tests:
            translate(test, module)
        models = session.load_all(module) if tests else {}
        yield from ((test, models[test.name]) for test in tests)
        return
    except KvernError:
        pass
    for test in tests:
        try:
            yield test, session.load(translate(test, Module()))
        except KvernError as error:
            yield test, error


def _compare(test: Any, model: Any) -> str | None:
    """What is wrong with the numbers."""
    for inputs, outputs in test.data_sets:
        try:
            got = model.execute(*map(_array, inputs))
            for one, other in zip(got, outputs, strict=True):
                one, other = np.asarray(one.to_numpy()), _array(other)
                assert one.dtype == other.dtype, f"got {one.dtype}, expected {other.dtype}"
                assert one.shape == other.shape, f"got shape {one.shape}, expected {other.shape}"
                if one.dtype.kind in "biu":
                    np.testing.assert_array_equal(one, other)
                else:
                    # The tests' own tolerance is below the spacing of half floats.
                    dtype = DType.from_numpy(one.dtype)
                    least = TOLERANCE[dtype] if dtype.is_half() else 0.0
                    np.testing.assert_allclose(
                        one.astype(np.float64),
                        other.astype(np.float64),
                        max(test.rtol, least),
                        max(test.atol, least),
                    )
        except (AssertionError, KvernError) as error:
            return f"{type(error).__name__}: {error}"
    return None


def _array(value: Any) -> np.ndarray:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.ascontiguousarray(value).reshape(np.shape(value))


def translate(test: Any, module: Module) -> Graph:
    """Stages the model of a test as a graph of its name.

    Raises:
        NotMapped: It uses something that the mapping does not have.
    """
    proto = test.model.graph
    versions = [o.version for o in test.model.opset_import if o.domain in ("", "ai.onnx")]
    if not versions:
        raise NotMapped("another domain")
    opset = versions[0]
    if len(test.data_sets) != 1:
        raise NotMapped("several data sets")
    missing = [node.op_type for node in proto.node if node.op_type not in MAPPING]
    if missing:
        raise NotMapped(missing[0])
    types = [_type_of(value) for value in proto.input]
    given = test.data_sets[0][0]
    with Graph(test.name, input_types=types, module=module) as graph:
        entries: dict[str, Entry] = {
            value.name: Entry(tensor.tensor, given=_array(array))
            for value, tensor, array in zip(proto.input, graph.inputs, given, strict=True)
        }
        for initializer in proto.initializer:
            entries[initializer.name] = Entry(known=onnx.numpy_helper.to_array(initializer))
        for node in proto.node:
            _translate_node(node, entries, opset)
        graph.output(*(entries[value.name].get() for value in proto.output))
    return graph


def _translate_node(proto: Any, entries: dict[str, Entry], opset: int) -> None:
    inputs = [entries[name] if name else None for name in proto.input]
    if proto.input and all(entry is not None and entry.known is not None for entry in inputs):
        # Nothing that the test feeds: the reference computes it.
        known = {name: entries[name].known for name in proto.input}
        results = [Entry(known=np.asarray(value)) for value in _evaluate(proto, known, opset)]
    else:
        result = MAPPING[proto.op_type](Node(proto, inputs, opset))
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        results = [r if isinstance(r, Entry) else Entry(r) for r in results]
    if len(results) < len([name for name in proto.output if name]):
        raise NotMapped(f"{proto.op_type} with {len(proto.output)} outputs")
    entries.update(dict(zip(proto.output, results, strict=False)))


def _evaluate(node: Any, known: dict[str, Any], opset: int) -> list[Any]:
    graph = onnx.helper.make_graph(
        [node],
        "constant",
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in known],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, known)


def _type_of(value: Any) -> TensorType:
    kind = value.type
    if not kind.HasField("tensor_type"):
        raise NotMapped("an input that is no tensor")
    shape = [dim.dim_value for dim in kind.tensor_type.shape.dim]
    return TensorType(dtype_of(kind.tensor_type.elem_type), shape, CPU)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs ONNX node tests on kvern.")
    parser.add_argument("parts", nargs="*", help="run tests with one of these in their name")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what is not mapped")
    options = parser.parse_args()
    names = [
        name
        for name in listed_names()
        if not options.parts or any(part in name for part in options.parts)
    ]
    report = run_tests(names)
    for name, why in report.failed.items():
        print(f"FAILED {name}: {why}")
    if options.verbose:
        for why, count in collections.Counter(report.not_mapped.values()).most_common():
            print(f"{count:5} not mapped: {why}")
    print(report)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
