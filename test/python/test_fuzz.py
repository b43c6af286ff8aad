# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs, most of them wrong: no abort, no hang, and no exception that is not documented.

They run in another process, so that this one can tell when it dies. `KVERN_FUZZ_EXAMPLES` sets how many.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kvern.graph import ops

WORKER = Path(__file__).with_name("fuzz_worker.py")
# Seconds for one program.
PATIENCE = 60
EXAMPLES = int(os.environ.get("KVERN_FUZZ_EXAMPLES", "400"))

DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "bool"]
# Buffers and subgraphs are no tensors, and a module is no op.
NOT_FUZZED = {"buffer_load", "buffer_store", "buffer_store_slice", "call", "random"}
NAMES = sorted(set(ops.__all__) - NOT_FUZZED)

value = st.builds(lambda i: {"value": i}, st.integers(0, 9))
small = st.integers(-3, 5)
number = st.one_of(small, st.floats(-3, 3), st.sampled_from([float("inf"), 2**31, -(2**63), 2**70]))
dim = st.one_of(small, st.sampled_from(["n", "m", "k"]), st.just({"dim": "n"}), st.just(2**40))
shape = st.builds(lambda dims: {"list": dims}, st.lists(dim, max_size=4))
dtype = st.builds(lambda name: {"dtype": name}, st.sampled_from(DTYPES))
bound = st.one_of(st.none(), small, value)
part = st.one_of(
    small,
    st.none(),
    st.builds(
        lambda a, b, c: {"slice": [a, b, c]},
        st.none() | small,
        st.none() | small,
        st.none() | small,
    ),
    st.just({"ellipsis": 1}),
    value,
)
index = st.one_of(part, st.builds(lambda parts: {"tuple": parts}, st.lists(part, max_size=4)))
values = st.builds(lambda items: {"list": items}, st.lists(value, max_size=3))
anything = st.one_of(
    value, number, shape, dtype, index, values, st.text(max_size=3), st.booleans(), st.none()
)

UNARY = "abs acos atanh ceil cos erf exp floor gelu is_inf is_nan log log1p logical_not negate relu round rsqrt"
UNARY += " sigmoid silu sin sqrt tanh trunc"
BINARY = "add div equal floor_div greater greater_equal logical_and logical_or logical_xor mod mul not_equal pow"
BINARY += " sub matmul outer max min"
REDUCTION = "argmax argmin logsoftmax mean prod softmax sum squeeze unsqueeze flatten"
# Arguments that are likely to be right, by op.
LIKELY: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(UNARY.split(), (value,)),
    **dict.fromkeys(BINARY.split(), (value, value | number)),
    **dict.fromkeys(REDUCTION.split(), (value, small)),
    "band_part": (value, small, small),
    "broadcast_to": (value, shape),
    "cast": (value, dtype),
    "chunk": (value, small, small),
    "concat": (values, small),
    "constant": (number, dtype),
    "gather": (value, value, small),
    "layer_norm": (value, value, value, number),
    "permute": (value, shape),
    "range": (small, small | dim, small),
    "rebind": (value, shape),
    "repeat_interleave": (value, small, small),
    "reshape": (value, shape),
    "rms_norm": (value, value, number),
    "shape_to_tensor": (shape,),
    "slice_tensor": (value, index),
    "split": (value, shape, small),
    "stack": (values, small),
    "tile": (value, shape),
    "transpose": (value, small, small),
    "where": (value, value, value),
}


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    name = draw(st.sampled_from(NAMES))
    likely = LIKELY.get(name)
    if likely is None or draw(st.integers(0, 5)) == 0:
        arguments = draw(st.lists(anything, max_size=4))
    else:
        arguments = [draw(strategy) for strategy in likely]
    keywords = draw(
        st.dictionaries(st.sampled_from(["axis", "dtype", "out_dim"]), anything, max_size=1)
        if draw(st.integers(0, 9)) == 0
        else st.just({})
    )
    return [name, arguments, keywords]


def inputs() -> st.SearchStrategy[list[Any]]:
    sizes = st.one_of(st.integers(0, 4), st.sampled_from(["n", "m", "k"]))
    return st.tuples(st.sampled_from(DTYPES), st.lists(sizes, max_size=3)).map(list)


programs = st.fixed_dictionaries(
    {
        "inputs": st.lists(inputs(), min_size=1, max_size=3),
        "steps": st.lists(steps(), min_size=1, max_size=6),
        "sizes": st.fixed_dictionaries(dict.fromkeys("nmk", st.integers(0, 5))),
        "feeds": st.one_of(st.none(), st.none(), st.lists(inputs(), max_size=3)),
    }
)


class Worker:
    """The process that runs programs; it is started again when it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, program: dict[str, Any]) -> None:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(program) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        if not ready:
            self.stop()
            pytest.fail(f"a program did not end: {json.dumps(program)}")
        answer = process.stdout.readline()
        if not answer:
            code = process.wait()
            self.process = None
            pytest.fail(f"a program ended the process ({code}): {json.dumps(program)}")
        outcome = json.loads(answer)
        if "error" in outcome:
            pytest.fail(f"{outcome['error']}\nin {json.dumps(program)}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.stop()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(program=programs)
def test_random_programs(worker: Worker, program: dict[str, Any]) -> None:
    worker.run(program)
