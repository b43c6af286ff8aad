# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derived weights in the runtime alone: executables made from C."""

from __future__ import annotations

import weakref
from typing import Any

import native
import numpy as np
import pytest
from kvern import _runtime
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import ArtifactError, WeightError

F32 = DType.float32.value
SOURCE = """
/* y = 2 x, for any size */
int32_t twice(struct KvernFrame *f) {
  int64_t n = f->symbols[0];
  const float *x = f->inputs[0];
  float *y = kvern_rt_output(f, 0, 1, &n);
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return 0;
}
/* y = a + b */
int32_t sum(struct KvernFrame *f) {
  int64_t n = f->symbols[0];
  const float *a = f->inputs[0], *b = f->inputs[1];
  float *y = kvern_rt_output(f, 0, 1, &n);
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
  return 0;
}
int32_t wrong(struct KvernFrame *f) { return 7; }
/* the first weight of the program */
int32_t get(struct KvernFrame *f) {
  int64_t n = 4;
  const float *w = f->weights[0];
  float *y = kvern_rt_output(f, 0, 1, &n);
  for (int64_t i = 0; i < n; ++i) y[i] = w[i];
  return 0;
}
"""


def tensor(name: str, *dims: Any) -> dict[str, Any]:
    return {"name": name, "dtype": F32, "dims": list(dims)}


def initializer(name: str, inputs: int = 1, size: Any = "n") -> dict[str, Any]:
    return native.program(
        name,
        symbols=["n"],
        inputs=[tensor(f"x{i}", "n") for i in range(inputs)],
        outputs=[tensor("y", size)],
        fingerprint=name,
    )


INITIALIZERS = [initializer("twice"), initializer("sum", 2), initializer("wrong")]


def weight(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "dtype": F32, "shape": [4], **fields}


def derived(name: str, code: int, *inputs: int, shape: tuple[int, ...] = (4,)) -> dict[str, Any]:
    return weight(name, initializer=code, inputs=[(i, list(shape)) for i in inputs])


def executable(
    weights: list[dict[str, Any]], *reads: int, initializers: Any = None, constants: Any = None
) -> Any:
    programs = [
        native.program(f"get{i}", entry_symbol="get", weights=[i], outputs=[tensor("y", 4)])
        for i in reads
    ]
    data = native.executable(
        SOURCE,
        *programs,
        weights=weights,
        initializers=INITIALIZERS if initializers is None else initializers,
        constants=constants or {},
    )
    return _runtime.Executable.from_bytes(data)


def core(values: Any) -> Any:
    return Buffer.from_dlpack(np.asarray(values, np.float32))._core


def read(weights: Any, index: int) -> list[float]:
    [output] = _runtime.Model.create(weights, f"get{index}").execute([])
    return Buffer._wrap(output).to_numpy().tolist()


A, B = [1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]


def test_chains_run_in_order() -> None:
    weights = [weight("a"), derived("a2", 0, 0), weight("b"), derived("s", 1, 1, 2)]
    seen: list[Any] = []
    bound = _runtime.bind_weights(
        executable(weights, 3), {"a": core(A), "b": core(B)}, progress=lambda *e: seen.append(e)
    )
    assert read(bound, 3) == [12, 24, 36, 48]
    assert seen == [(16, 32, "a"), (32, 32, "a")]
    # What no program reads has gone.
    assert list(bound.tensors()) == ["s"]


def test_constants_and_reshaped_weights_are_inputs() -> None:
    weights = [
        weight("c"),
        {**weight("m"), "shape": [2, 2]},
        derived("s", 1, 0, 1),
    ]
    data = np.asarray(B, np.float32).tobytes()
    bound = _runtime.bind_weights(
        executable(weights, 2, constants={0: data}), {"m": core([[1, 2], [3, 4]])}
    )
    assert read(bound, 2) == [11, 22, 33, 44]


def test_a_weight_that_a_program_reads_stays() -> None:
    bound = _runtime.bind_weights(
        executable([weight("a"), derived("a2", 0, 0)], 0, 1), {"a": core(A)}
    )
    assert read(bound, 0) == A
    assert read(bound, 1) == [2, 4, 6, 8]
    assert sorted(bound.tensors()) == ["a", "a2"]


def test_originals_are_freed_when_their_last_initializer_is_done() -> None:
    a, b = np.asarray(A, np.float32), np.asarray(B, np.float32)
    alive = {"a": weakref.ref(a), "b": weakref.ref(b)}
    cores = {"a": core(a), "b": core(b)}
    del a, b
    seen: list[Any] = []
    weights = [weight("a"), weight("b"), derived("a2", 0, 0), derived("s", 1, 0, 1)]
    bound = _runtime.bind_weights(
        executable(weights, 2, 3),
        cores,
        progress=lambda done, total, name: seen.append(
            [k for k in alive if alive[k]() is not None]
        ),
    )
    assert cores == {}
    assert seen == [["a", "b"], []]
    assert read(bound, 3) == [11, 22, 33, 44]


def test_derived_weights_that_are_given_are_not_computed() -> None:
    weights = [weight("a"), derived("a2", 2, 0), weight("b"), derived("s", 1, 1, 2)]
    program = executable(weights, 3)
    with pytest.raises(Exception, match=r"weight 'a': .*ended with code 7"):
        _runtime.bind_weights(program, {"a": core(A), "b": core(B)})
    bound = _runtime.bind_weights(program, {"b": core(B)}, derived={"a2": core(A)})
    assert read(bound, 3) == [11, 22, 33, 44]
    # Nothing else is needed when all that programs read is given.
    bound = _runtime.bind_weights(program, {}, derived={"s": core(A), "other": core(B)})
    assert read(bound, 3) == A
    # One of another shape does not count.
    with pytest.raises(WeightError, match="missing: 'a'"):
        _runtime.bind_weights(program, {"b": core(B)}, derived={"a2": core([1, 2])})


def test_problems_name_the_originals() -> None:
    program = executable([weight("a"), derived("a2", 0, 0)], 1)
    with pytest.raises(WeightError) as caught:
        _runtime.bind_weights(program, {"a2": core(A), "x": core(A)})
    assert str(caught.value) == (
        "weights do not match the model:\n  missing: 'a' (float32[4])"
        "\n  unexpected: 'a2' (float32[4])\n  unexpected: 'x' (float32[4])"
    )
    with pytest.raises(WeightError, match=r"expected 'a' to be float32\[4\], but got float32\[2\]"):
        _runtime.bind_weights(program, {"a": core([1, 2])})


def test_what_progress_raises_ends_the_binding() -> None:
    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt(name)

    with pytest.raises(KeyboardInterrupt, match="a"):
        _runtime.bind_weights(
            executable([weight("a"), derived("a2", 0, 0)], 1), {"a": core(A)}, progress=stop
        )


@pytest.mark.parametrize(
    "weights",
    [
        [weight("a"), derived("d", 3, 0)],  # no such initializer
        [weight("a"), derived("d", 0, 1)],  # made of itself
        [derived("d", 0, 1), weight("a")],  # made of a later one
        [weight("a"), derived("d", 0, 9)],  # of one that does not exist
        [weight("a"), derived("d", 1, 0)],  # too few inputs
        [weight("a"), derived("d", 0, 0, shape=(5,))],  # another number of elements
        [weight("a"), {**derived("d", 0, 0), "dtype": DType.int32.value}],
        [{**weight("a"), "dtype": DType.int32.value}, derived("d", 0, 0)],
        [weight("a"), weight("d", inputs=[(0, [4])])],  # inputs without an initializer
    ],
    ids=str,
)
def test_damaged_manifests(weights: list[dict[str, Any]]) -> None:
    with pytest.raises(ArtifactError, match="damaged executable manifest"):
        executable(weights, 1)


def test_initializers_that_give_another_shape() -> None:
    program = executable(
        [weight("a"), derived("d", 0, 0)], 1, initializers=[initializer("twice", size=5)]
    )
    with pytest.raises(Exception, match=r"'a'.*shape"):
        _runtime.bind_weights(program, {"a": core(A)})


def test_content_hashes() -> None:
    random = np.random.default_rng(0)
    for size in (0, 1, 63, 64, 65, 1000):
        data = random.integers(0, 256, size, dtype=np.uint8)
        hashes = {_runtime.content_hash(Buffer.from_dlpack(data)._core)}
        for place in range(size):
            data[place] ^= 1
            hashes.add(_runtime.content_hash(Buffer.from_dlpack(data)._core))
            data[place] ^= 1
        assert len(hashes) == size + 1
        assert _runtime.content_hash(Buffer.from_dlpack(data.copy())._core) in hashes
    zeros = [
        _runtime.content_hash(Buffer.from_dlpack(np.zeros(n, np.uint8))._core) for n in range(200)
    ]
    assert len(set(zeros)) == 200


def test_large_weights_are_read_in_parts() -> None:
    source = """
/* pairs of rows, side by side: [n, 1048576] -> [(n + 1) / 2, 2097152], zero where there is none */
int32_t pairs(struct KvernFrame *f) {
  int64_t n = f->symbols[0], dims[2] = {(n + 1) / 2, 2097152};
  const float *x = f->inputs[0];
  float *y = kvern_rt_output(f, 0, 2, dims);
  for (int64_t i = 0; i < dims[0] * dims[1]; ++i) y[i] = i < n * 1048576 ? x[i] : -n;
  return 0;
}
int32_t get(struct KvernFrame *f) {
  int64_t n = 10 * 2097152;
  const float *w = f->weights[0];
  float *y = kvern_rt_output(f, 0, 1, &n);
  for (int64_t i = 0; i < n; ++i) y[i] = w[i];
  return 0;
}
"""
    pairs = native.program(
        "pairs",
        symbols=["n"],
        inputs=[tensor("x", "n", 1 << 20)],
        outputs=[
            tensor("y", {"text": "", "terms": [(1, 0), (0, 1), (2, 0), (0, 2), (4, 0)]}, 1 << 21)
        ],
        fingerprint="pairs",
        rows_per_block=2,
    )
    weights = [
        {**weight("a"), "shape": [19, 1 << 20]},
        {
            **derived("d", 0, 0),
            "shape": [10, 1 << 21],
            "inputs": [(0, [19, 1 << 20])],
        },
    ]
    program = native.program("get", weights=[1], outputs=[tensor("y", 10 << 21)])
    data = native.executable(source, program, weights=weights, initializers=[pairs])
    a = np.random.default_rng(0).standard_normal((19, 1 << 20), dtype=np.float32)
    bound = _runtime.bind_weights(_runtime.Executable.from_bytes(data), {"a": core(a)})
    [output] = _runtime.Model.create(bound, "get").execute([])
    got = Buffer._wrap(output).to_numpy().reshape(20, 1 << 20)
    assert np.array_equal(got[:19], a)
    # The last part has 3 rows of 19, after two of 8.
    assert np.all(got[19] == -3)
