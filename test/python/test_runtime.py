# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime and the engine on executables made from C."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import ml_dtypes
import native
import numpy as np
import pytest
import torch
from kvern import engine
from kvern.driver import CPU, Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession, Model, TensorSpec
from kvern.errors import ArtifactError, ExecutionError, InputError, KvernError
from native import (
    ADD,
    CONST,
    DIV,
    F32,
    I64,
    MOD,
    MUL,
    N5,
    SCALE,
    SYMBOL,
    WEIGHTS,
    affine,
    dim,
    load,
    load_affine,
    tensor,
    zeros,
)


def test_runs():
    model = load_affine()
    for n in (1, 2, 7, 0):
        x = np.random.default_rng(n).random((n, 3), np.float32)
        (y,) = model(x)
        assert isinstance(y, Buffer) and y.shape == (n, 3) and y.dtype is DType.float32
        np.testing.assert_allclose(y, x * SCALE + 10, rtol=1e-6)


def test_metadata():
    model = load_affine()
    assert model.name == "affine"
    assert model.input_metadata == [TensorSpec("x", DType.float32, [None, 3], ("n", "3"))]
    assert model.output_metadata == [TensorSpec("y", DType.float32, [None, 3], ("n", "3"))]
    assert model.devices == model.input_devices == model.output_devices == [CPU()]
    assert "affine" in repr(model) and "[n, 3]" in repr(model)
    compiled = InferenceSession().compile(affine())
    assert compiled.graph_names == ["affine"]
    assert compiled.weights["scale"].shape == [3]
    assert compiled.input_metadata() == compiled.input_metadata("affine") == model.input_metadata
    assert compiled.output_metadata() == model.output_metadata
    with pytest.raises(ValueError, match="affine"):
        compiled.input_metadata("other")
    with pytest.raises(TypeError):
        compiled()  # pyright: ignore


def test_accepts_arrays_of_all_kinds():
    model = load_affine()
    x = np.ones((2, 3), np.float32)
    for array in (x, Buffer.from_numpy(x), torch.from_numpy(x)):
        assert model(array)[0].to_numpy()[0].tolist() == [11, 12, 13]
        assert model(x=array)[0].shape == model.execute(array)[0].shape == (2, 3)


SCALAR = """
int32_t scalar(struct KvernFrame *f) {
  int64_t none = 0;
  *(double *)kvern_rt_output(f, 0, 0, &none) = *(const float *)f->inputs[0] + *(const int64_t *)f->inputs[1];
  return 0;
}
"""


def test_scalars():
    program = native.program(
        "scalar",
        inputs=[tensor("a"), tensor("b", dtype=I64)],
        outputs=[tensor("y", dtype=DType.float64.value)],
    )
    model = load(native.executable(SCALAR, program))
    assert model(1.5, 2)[0].item() == 3.5
    assert model(b=np.int64(2), a=np.float32(1))[0].item() == 3
    assert model(1, 2)[0].item() == 3
    for bad in (2.5, 2.0):
        with pytest.raises(ValueError, match=r"input 1 \('b'\).*int64"):
            model(1, bad)
    with pytest.raises(ValueError, match="input 1"):
        model(1, 2**70)
    with pytest.raises(ValueError, match=r"expected shape \[n, 3\]"):
        load_affine()(1.0)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, r"expected 1 inputs \(x\), but got 0"),
        ((1, 2), {}, "but got 2"),
        ((1,), {"x": 1}, "two values for input 'x'"),
        ((), {"y": 1}, r"no input 'y'; its inputs are \['x'\]"),
        ((1, 2, 3), {"x": 1}, "two values|but got"),
        ((None,), {}, r"input 0 \('x'\).*NoneType"),
        (([[1.0, 2.0, 3.0]],), {}, "list"),
    ],
)
def test_call_errors(args, kwargs, text):
    with pytest.raises(TypeError, match=text) as caught:
        load_affine()(*args, **kwargs)
    assert isinstance(caught.value, InputError)


def test_missing_keyword_inputs():
    program = native.program("two", inputs=[tensor("a"), tensor("b")])
    model = load(native.executable("int32_t two(struct KvernFrame *f) { return 0; }", program))
    assert model(1, b=2) == []
    with pytest.raises(TypeError, match=r"no value for inputs \['b'\]"):
        model(a=1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((2, 3)), r"input 0 \('x'\) to have dtype float32, but got float64"),
        (np.ones((2, 4), np.float32), r"dim 1 \('3'\) of input 0 \('x'\) to be 3, but got 4"),
        (np.ones(3, np.float32), r"rank 2 and shape \[n, 3\], but got rank 1 \(shape \[3\]\)"),
        (np.ones((3, 2), np.float32).T, r"contiguous.*strides \[1, 2\].*ascontiguousarray"),
        (np.ones((2, 3), np.complex64), r"input 0 \('x'\): unsupported NumPy dtype"),
        (np.frombuffer(bytes(25), np.float32, 6, offset=1).reshape(2, 3), "aligned to 4"),
        (torch.ones(2, 3, requires_grad=True), r"input 0 \('x'\)"),
    ],
)
def test_input_errors(value, text):
    with pytest.raises(ValueError, match=text):
        load_affine()(value)


def binding(inputs: list[dict[str, Any]], symbols: list[str]) -> Model:
    """A model that gives back its symbols."""
    source = """
    int32_t binding(struct KvernFrame *f) {
      int64_t n = %d;
      int64_t *y = kvern_rt_output(f, 0, 1, &n);
      for (int64_t i = 0; i < n; ++i) y[i] = f->symbols[i];
      return 0;
    }
    """
    program = native.program(
        "binding",
        symbols=symbols,
        inputs=inputs,
        outputs=[tensor("symbols", len(symbols), dtype=I64)],
    )
    return load(native.executable(source % len(symbols), program))


def test_one_symbol_in_several_inputs():
    model = binding([tensor("x", "n"), tensor("y", 2, "n")], ["n"])
    assert model(zeros(4), zeros(2, 4))[0].to_numpy().tolist() == [4]
    with pytest.raises(
        ValueError,
        match=r"dim 1 \('n'\) of input 1 \('y'\) to be 4, but got 5 \(shape \[2, 5\]\); "
        r"n = 4 \(from dim 0 of input 0 \('x'\)\)",
    ):
        model(zeros(4), zeros(2, 5))


def test_algebraic_dims():
    model = binding([tensor("y", N5), tensor("x", "n")], ["n"])
    assert model(zeros(11), zeros(2))[0].to_numpy().tolist() == [2]
    with pytest.raises(ValueError, match=r"'n \* 5 \+ 1'.* to be 11, but got 12.*n = 2"):
        model(zeros(12), zeros(2))
    solved = binding([tensor("y", N5)], ["n"])
    assert solved(zeros(1))[0].to_numpy().tolist() == [0]
    assert solved(zeros(16))[0].to_numpy().tolist() == [3]
    for size in (0, 12):
        with pytest.raises(ValueError, match=rf"for some size n >= 0, but got {size}"):
            solved(zeros(size))


def test_equations_are_solved_in_any_order():
    both = dim("n * m", (SYMBOL, 0), (SYMBOL, 1), (MUL, 0))
    total = dim("n + k", (SYMBOL, 0), (SYMBOL, 2), (ADD, 0))
    model = binding([tensor("a", total), tensor("b", both), tensor("c", "m")], ["n", "m", "k"])
    assert model(zeros(10), zeros(12), zeros(4))[0].to_numpy().tolist() == [3, 4, 7]
    with pytest.raises(ValueError, match=r"'n \* m'.*but got 13"):
        model(zeros(10), zeros(13), zeros(4))
    with pytest.raises(ValueError, match=r"does not determine"):
        binding([tensor("b", both)], ["n", "m"])(zeros(12))
    # Any n fits 0 * n: the shapes do not say which.
    with pytest.raises(ValueError, match="does not determine"):
        model(zeros(10), zeros(0), zeros(0))


def test_floor_division_and_remainder():
    half = dim("n floordiv 2", (SYMBOL, 0), (CONST, 2), (DIV, 0))
    rest = dim("n mod 2", (SYMBOL, 0), (CONST, 2), (MOD, 0))
    model = binding([tensor("a", "n"), tensor("b", half, rest)], ["n"])
    assert model(zeros(7), zeros(3, 1))[0].to_numpy().tolist() == [7]
    with pytest.raises(ValueError, match="n floordiv 2"):
        model(zeros(7), zeros(4, 1))
    with pytest.raises(ValueError, match="does not determine"):
        binding([tensor("b", half)], ["n"])(zeros(3))


def test_weight_problems_are_listed_at_once():
    with pytest.raises(ValueError) as caught:
        load(
            affine(), bias=np.ones(2, np.float64), other=np.ones(3, np.int8), more=np.ones((), bool)
        )
    assert str(caught.value).splitlines() == [
        "weights do not match the model:",
        "  missing: 'scale' (float32[3])",
        "  mismatch: expected 'bias' to be float32[], but got float64[2]",
        "  unexpected: 'other' (int8[3])",
        "  unexpected: 'more' (bool[])",
    ]
    with pytest.raises(ValueError, match="unusable: 'bias'"):
        load(affine(), bias=[1.0])
    with pytest.raises(ValueError, match="missing: 'scale'"):
        load(affine())


def test_unused_weights_when_not_strict():
    model = InferenceSession().load(
        affine(), weights_registry={**WEIGHTS, "other": SCALE}, strict=False
    )
    assert model(zeros(1, 3))[0].to_numpy().tolist() == [[10, 10, 10]]


def test_weights_are_used_in_place():
    scale = SCALE.copy()
    model = load(affine(), **{**WEIGHTS, "scale": scale})
    scale[:] = 0
    assert model(np.ones((1, 3), np.float32))[0].to_numpy().tolist() == [[10, 10, 10]]


def test_weights_that_cannot_be_used_in_place():
    strided = np.repeat(SCALE, 2)[::2]
    unaligned = np.frombuffer(b"x" + SCALE.tobytes(), np.float32, 3, offset=1)
    for scale in (strided, unaligned, torch.from_numpy(SCALE), Buffer.from_numpy(SCALE)):
        model = load(affine(), **{**WEIGHTS, "scale": scale})
        del scale
        gc.collect()
        assert model(np.ones((1, 3), np.float32))[0].to_numpy().tolist() == [[11, 12, 13]]


def test_weights_stay_alive():
    model = load(affine(), scale=np.array([1, 2, 3], np.float32), bias=np.zeros((), np.float32))
    gc.collect()
    junk = [np.full(3, -1, np.float32) for _ in range(100)]
    assert model(np.ones((1, 3), np.float32))[0].to_numpy().tolist() == [[1, 2, 3]]
    del junk


def test_embedded_constants(tmp_path):
    data = affine(constants={0: SCALE.tobytes()})
    path = tmp_path / "model.kvernexe"
    path.write_bytes(data)
    for source in (data, path, str(path)):
        model = InferenceSession().load(source, weights_registry={"bias": WEIGHTS["bias"]})
        assert model(np.ones((1, 3), np.float32))[0].to_numpy().tolist() == [[11, 12, 13]]
    with pytest.raises(ValueError, match="unexpected: 'scale'"):
        load(data, **WEIGHTS)
    with pytest.raises(ValueError, match="embedded data of weight 'scale'"):
        load(affine(constants={0: b"123"}), **WEIGHTS)


COUNTER = """
int32_t counter(struct KvernFrame *f) {
  int64_t *state = f->inputs[0], none = 0;
  state[0] += *(const int64_t *)f->inputs[1];
  *(int64_t *)kvern_rt_output(f, 0, 0, &none) = state[0];
  return 0;
}
"""


def test_mutable_inputs():
    program = native.program(
        "counter",
        inputs=[tensor("state", 2, dtype=I64, kind="buffer"), tensor("by", dtype=I64)],
        outputs=[tensor("y", dtype=I64)],
    )
    model = load(native.executable(COUNTER, program))
    state = np.zeros(2, np.int64)
    assert [model(state, by)[0].item() for by in (1, 2, 3)] == [1, 3, 6]
    assert state.tolist() == [6, 0]
    buffer = Buffer.zeros((2,), DType.int64)
    model(buffer, 5)
    assert buffer[0].item() == 5
    with pytest.raises(ValueError, match=r"input 0 \('state'\), which.*shares memory with input 1"):
        model(buffer, buffer[1])
    state.flags.writeable = False
    with pytest.raises(ValueError, match=r"input 0 \('state'\) to be writable"):
        model(state, 1)


CHECKED = """
int32_t checked(struct KvernFrame *f) {
  int64_t n = *(const int64_t *)f->inputs[0];
  if (n == 1) { kvern_rt_fail(f, 0, n, 2, 3); return 1; }
  if (n == 2) { kvern_rt_fail(f, 0, n, 2, 3); kvern_rt_fail(f, 1, 0, 0, 0); return 1; }
  if (n == 3) return 7;
  if (n == 4) { kvern_rt_fail(f, 99, 0, 0, 0); return 1; }
  if (n == 5) kvern_rt_workspace(f, INT64_C(1) << 50);
  if (n == 6) kvern_rt_alloc(f, -1);
  if (n == 7) { int64_t d = -1; kvern_rt_output(f, 0, 1, &d); }
  if (n == 8) { int64_t d = 1; kvern_rt_output(f, 5, 1, &d); }
  if (n == 9) return 0;
  if (n == 10) { for (int i = 0; i < 100; ++i) *(char *)kvern_rt_alloc(f, 1 << i % 20) = 1; }
  float *y = kvern_rt_output(f, 0, 1, &n);
  for (int64_t i = 0; i < n; ++i) y[i] = i;
  return 0;
}
"""


def checked() -> Model:
    program = native.program(
        "checked",
        symbols=["m"],
        num_input_symbols=0,
        inputs=[tensor("n", dtype=I64)],
        outputs=[tensor("y", "m")],
        checks=[
            {
                "kind": "bounds",
                "op": "kvern.gather",
                "location": "model.py:12",
                "message": "index {0} of {1} is {2} {3}",
            },
            {"message": "plain"},
        ],
    )
    return load(native.executable(CHECKED, program))


def test_outputs_whose_size_the_run_decides():
    model = checked()
    assert model(20)[0].to_numpy().tolist() == list(range(20))
    assert model(10)[0].shape == (10,)
    assert model.output_metadata[0].shape == [None]


@pytest.mark.parametrize(
    ("n", "error", "text"),
    [
        (1, RuntimeError, r"^model\.py:12: kvern\.gather: index 1 of 2 is 3 \{3\}$"),
        (2, RuntimeError, r"^model\.py:12: kvern\.gather: index 2 of 2 is 3 \{3\}$"),
        (3, RuntimeError, "program 'checked' ended with code 7"),
        (4, RuntimeError, "unknown check 99"),
        (5, MemoryError, "workspace of 1125899906842624 bytes"),
        (6, MemoryError, "-1 bytes"),
        (7, MemoryError, r"output 0 \('y'\) of shape \[-1\]"),
        (8, RuntimeError, "output 5 of rank 1"),
        (9, RuntimeError, "did not produce output 0"),
    ],
)
def test_failures_while_running(n, error, text):
    model = checked()
    with pytest.raises(error, match=text) as caught:
        model(n)
    assert isinstance(caught.value, KvernError)
    # A failed run leaves the model as it was.
    assert model(12)[0].shape == (12,)


def test_outputs_that_are_too_large():
    huge = dim("n * 2^50", (SYMBOL, 0), (CONST, 2**50), (MUL, 0))
    program = native.program(
        "huge", symbols=["n"], inputs=[tensor("x", "n")], outputs=[tensor("y", huge)]
    )
    model = load(native.executable("int32_t huge(struct KvernFrame *f) { return 0; }", program))
    with pytest.raises(MemoryError, match="output 0"):
        model(zeros(1))
    assert model(zeros(0))[0].shape == (0,)


def test_output_shape_against_the_manifest():
    source = """
    int32_t wrong(struct KvernFrame *f) {
      int64_t d = 4;
      kvern_rt_output(f, 0, 1, &d);
      return 0;
    }
    """
    program = native.program("wrong", outputs=[tensor("y", 3)])
    with pytest.raises(ExecutionError, match=r"shape \[3\], but got \[4\]"):
        load(native.executable(source, program))()


def test_several_threads_share_a_model():
    model = load_affine()
    failures = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x = rng.random((int(rng.integers(0, 50)), 3), np.float32)
            if not np.allclose(model(x)[0], x * SCALE + 10, rtol=1e-6):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_free_during_a_run():
    source = """
    int32_t wait(struct KvernFrame *f) {
      volatile int32_t *flag = f->inputs[0];
      for (int64_t i = 0; !*flag; ++i) if (i == INT64_C(20000000000)) return 1;
      return 0;
    }
    """
    program = native.program(
        "wait", inputs=[tensor("flag", dtype=DType.int32.value, kind="buffer")]
    )
    model = load(native.executable(source, program))
    flag = np.zeros((), np.int32)
    thread = threading.Thread(target=model, args=(flag,))
    thread.start()
    flag[...] = 1
    thread.join(20)
    assert not thread.is_alive()


def test_several_programs_share_weights():
    source = """
    int32_t first(struct KvernFrame *f) {
      int64_t n = 1;
      *(float *)kvern_rt_output(f, 0, 1, &n) = *(float *)f->weights[0];
      return 0;
    }
    int32_t second(struct KvernFrame *f) {
      int64_t n = 1;
      *(float *)kvern_rt_output(f, 0, 1, &n) = *(float *)f->weights[0] + *(float *)f->weights[1];
      return 0;
    }
    """
    data = native.executable(
        source,
        native.program("first", outputs=[tensor("y", 1)], weights=[1]),
        native.program("second", outputs=[tensor("y", 1)], weights=[0, 1]),
        weights=[{"name": name, "dtype": F32, "shape": [1]} for name in ("a", "b")],
    )
    weights = {"a": np.ones(1, np.float32), "b": np.full(1, 2, np.float32)}
    models = InferenceSession().load_all(data, weights_registry=weights)
    assert {name: model()[0].item() for name, model in models.items()} == {"first": 2, "second": 3}
    with pytest.raises(ValueError, match=r"one graph, but got \['first', 'second'\]; use init_all"):
        load(data, **weights)


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_every_dtype_passes_through(dtype: DType):
    source = """
    int32_t copy(struct KvernFrame *f) {
      int64_t n = f->symbols[0];
      char *y = kvern_rt_output(f, 0, 1, &n);
      for (int64_t i = 0; i < n * %d; ++i) y[i] = ((const char *)f->inputs[0])[i];
      return 0;
    }
    """
    program = native.program(
        "copy",
        symbols=["n"],
        inputs=[tensor("x", "n", dtype=dtype.value)],
        outputs=[tensor("y", "n", dtype=dtype.value)],
    )
    model = load(native.executable(source % dtype.size_in_bytes, program))
    x = np.ones(5, dtype.to_ml_dtypes())
    (y,) = model(x)
    assert y.dtype is dtype and y.to_numpy().dtype == x.dtype
    assert np.array_equal(y.to_numpy().astype(np.float32), x.astype(np.float32))


def test_bfloat16_from_torch():
    source = "int32_t f(struct KvernFrame *f) { return 0; }"
    program = native.program("f", inputs=[tensor("x", 2, dtype=DType.bfloat16.value)])
    model = load(native.executable(source, program))
    assert model(torch.zeros(2, dtype=torch.bfloat16)) == []
    assert model(np.zeros(2, ml_dtypes.bfloat16)) == []


def test_maths_and_memory_functions():
    source = """
    #include <string.h>
    #include <math.h>
    static const float table[4] = {0.5f, 1.5f, 2.5f, 3.5f};
    int32_t maths(struct KvernFrame *f) {
      int64_t n = 4;
      float *y = kvern_rt_output(f, 0, 1, &n);
      float t[4];
      memcpy(t, f->inputs[0], sizeof t);
      for (int i = 0; i < 4; ++i) y[i] = expf(t[i]) + tanhf(table[i]) + (float)pow(t[i], 2.0);
      return 0;
    }
    """
    program = native.program("maths", inputs=[tensor("x", 4)], outputs=[tensor("y", 4)])
    x = np.array([0.1, -1, 2, 3], np.float32)
    expected = np.exp(x) + np.tanh(np.array([0.5, 1.5, 2.5, 3.5])) + x.astype(np.float64) ** 2
    np.testing.assert_allclose(load(native.executable(source, program))(x)[0], expected, rtol=1e-6)


def test_unknown_functions_are_listed():
    source = """
    extern int mystery(int), system(const char *);
    int32_t f(struct KvernFrame *frame) { return mystery(1) + system("true"); }
    """
    with pytest.raises(ArtifactError, match=r"no symbol named 'mystery', 'system'|'system', 'my"):
        load(native.executable(source, native.program("f")))


# --- Sessions -------------------------------------------------------------------------------------------------


def test_session_options():
    assert InferenceSession().devices == InferenceSession([CPU(), CPU()]).devices == [CPU()]
    assert InferenceSession(num_threads=1).devices == [CPU()]
    InferenceSession().gpu_profiling("off")
    for options in (
        {"custom_extensions": "kernels.so"},
        {"precompiled_mefs": "x"},
        {"export_mefs": "x"},
    ):
        with pytest.raises(NotImplementedError, match=next(iter(options))):
            InferenceSession(**options)
    with pytest.raises(ValueError, match="num_threads >= 1"):
        InferenceSession(num_threads=0)
    with pytest.raises(ValueError, match="driver devices"):
        InferenceSession(["cpu"])  # pyright: ignore
    with pytest.raises(ValueError, match="accelerator"):
        InferenceSession().gpu_profiling("on")
    with pytest.raises(ValueError, match="mode"):
        InferenceSession().gpu_profiling("loud")  # pyright: ignore
    with pytest.raises(NotImplementedError, match="custom_extensions"):
        InferenceSession().compile(affine(), custom_extensions=["x"])
    with pytest.raises(NotImplementedError):
        load_affine().capture(1)
    with pytest.raises(NotImplementedError):
        load_affine().replay(1)


def test_exports():
    for name in engine.__all__:
        assert getattr(engine, name)


def test_exit_while_buffers_live():
    """Owners that outlive the interpreter do no harm."""
    code = """
import sys, numpy as np, torch
from kvern.driver import Buffer
sys.keep = [Buffer.from_numpy(np.ones(3)), torch.from_dlpack(Buffer.from_numpy(np.ones(3)))]
sys.more = [Buffer.from_dlpack(torch.ones(2)), Buffer.from_dlpack(torch.ones(2)).__dlpack__()]
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
