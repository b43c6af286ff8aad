# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled graph with its weights, ready to run."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvern import _runtime
from kvern.driver import Buffer, Device
from kvern.engine.compile_report import CompileReport
from kvern.engine.memory import MemoryPlan, plan_memory
from kvern.engine.report import Report, fixed_bytes, profile
from kvern.engine.spec import TensorSpec, device_of, spec_of
from kvern.errors import InputError, InputTypeError, KvernError, UnsupportedError

__all__ = ["Model"]


class Model:
    """A program that can be called, from several threads at once.

    Made by `InferenceSession.load` or `init`. Inputs may be Buffers, NumPy arrays, any DLPack arrays (such as torch
    tensors) and, for inputs of rank 0, Python numbers. Array memory is used in place and must be contiguous. An input
    that the graph declared as a buffer is changed in place, so it must be writable and share no memory with another
    input.
    """

    def __init__(
        self,
        weights: _runtime.WeightSet,
        program: dict[str, Any],
        threads: int = 0,
        compile_report: CompileReport | None = None,
    ) -> None:
        """Binds a program of an executable to its weights; made by `InferenceSession.init`."""
        self._core = _runtime.Model.create(weights, program["name"], threads)
        self._compile_report = compile_report
        self._program = program
        self._name: str = program["name"]
        self._inputs = [spec_of(tensor) for tensor in program["inputs"]]
        self._outputs = [spec_of(tensor) for tensor in program["outputs"]]
        self._mutable = [tensor["kind"] == "buffer" for tensor in program["inputs"]]
        self._input_devices = [device_of(tensor["device"]) for tensor in program["inputs"]]
        self._output_devices = [device_of(tensor["device"]) for tensor in program["outputs"]]
        self._positions = {spec.name: i for i, spec in enumerate(self._inputs)}

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self._name

    def compile_report(self) -> CompileReport | None:
        """Returns where the time of the compilation went; None for an executable from a file."""
        return self._compile_report

    @property
    def num_threads(self) -> int:
        """The most threads that a run uses."""
        return self._core.threads

    @property
    def fixed_bytes(self) -> int:
        """Bytes that every run moves, whatever the sizes of its inputs: those of the weights that it reads."""
        return fixed_bytes(self._program)

    @property
    def input_metadata(self) -> list[TensorSpec]:
        """The inputs, in order."""
        return list(self._inputs)

    @property
    def output_metadata(self) -> list[TensorSpec]:
        """The outputs, in order."""
        return list(self._outputs)

    @property
    def input_devices(self) -> list[Device]:
        """Device of each input."""
        return list(self._input_devices)

    @property
    def output_devices(self) -> list[Device]:
        """Device of each output."""
        return list(self._output_devices)

    @property
    def devices(self) -> list[Device]:
        """The devices that the model uses, the host first."""
        found = [Device.cpu(), *self._input_devices, *self._output_devices]
        return list(dict.fromkeys(found))

    def __call__(self, *args: Any, **kwargs: Any) -> list[Buffer]:
        """Runs the model.

        Args:
            *args: The first inputs, in order.
            **kwargs: The other inputs, by the names in `input_metadata`.

        Returns:
            The outputs, in order.

        Raises:
            TypeError: An unknown keyword, an input given twice, a missing or surplus input, or one that is no array.
            ValueError: An input of the wrong dtype, shape, device or layout.
            RuntimeError: The program failed.
        """
        if kwargs:
            args = self._in_order(args, kwargs)
        return self.execute(*args)

    def execute(self, *args: Any) -> list[Buffer]:
        """Runs the model.

        Args:
            *args: All inputs, in order, contiguous.

        Returns:
            The outputs, in order.

        Raises:
            TypeError: The wrong number of inputs, or one that is no array.
            ValueError: An input of the wrong dtype, shape, device or layout.
            RuntimeError: The program failed.
        """
        return [Buffer._wrap(core) for core in self._core.execute(self._cores(args))]

    def _cores(self, args: tuple[Any, ...]) -> list[_runtime.Buffer]:
        if len(args) != len(self._inputs):
            names = ", ".join(spec.name for spec in self._inputs)
            raise InputTypeError(
                f"model '{self._name}' expected {len(self._inputs)} inputs ({names}), but got {len(args)}"
            )
        return [
            arg._core if isinstance(arg, Buffer) else self._core_of(i, arg)
            for i, arg in enumerate(args)
        ]

    def memory_plan(self, **sizes: int) -> MemoryPlan:
        """Tells how much memory a run takes, without one.

        Args:
            **sizes: A value for each symbolic size of the inputs: `memory_plan(batch=4, seq=128)`.

        Raises:
            TypeError: A size is missing or unknown.
            ValueError: A size is no int, or out of range.
        """
        return plan_memory(self._core, self._program, sizes)

    def report(self, *args: Any, runs: int = 20, **kwargs: Any) -> Report:
        """Runs the model `runs` times and tells where the time goes, kernel by kernel.

        Args:
            *args: The inputs, as for a call. One that the graph changes in place is changed in every run.
            runs: How often; the report gives medians.
            **kwargs: Inputs by name.

        Raises:
            TypeError: As for a call.
            ValueError: As for a call, or `runs` is less than 1.
        """
        if runs < 1:
            raise InputError(f"expected runs >= 1, but got {runs}")
        cores = self._cores(self._in_order(args, kwargs) if kwargs else args)
        return profile(self._core, self._program, cores, runs)

    def capture(self, graph_keys: Any, *inputs: Any) -> list[Buffer]:
        """Records a device graph; needs an accelerator.

        Raises:
            NotImplementedError: Always, in this build.
        """
        raise UnsupportedError("capture records a graph of an accelerator, but none is present")

    def replay(self, graph_keys: Any, *inputs: Any) -> None:
        """Runs a recorded device graph; needs an accelerator.

        Raises:
            NotImplementedError: Always, in this build.
        """
        raise UnsupportedError("replay runs a graph of an accelerator, but none is present")

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Puts keyword inputs into their places."""
        places: list[Any] = [*args, *[_MISSING] * (len(self._inputs) - len(args))]
        for name, value in kwargs.items():
            position = self._positions.get(name)
            if position is None:
                raise InputTypeError(
                    f"model '{self._name}' has no input '{name}'; its inputs are {list(self._positions)}"
                )
            if places[position] is not _MISSING:
                raise InputTypeError(f"model '{self._name}' got two values for input '{name}'")
            places[position] = value
        missing = [
            spec.name
            for spec, value in zip(self._inputs, places, strict=False)
            if value is _MISSING
        ]
        if missing:
            raise InputTypeError(f"model '{self._name}' got no value for inputs {missing}")
        return tuple(places)

    def _core_of(self, position: int, value: Any) -> _runtime.Buffer:
        """Shares the memory of an array, or makes a number one of the input's dtype."""
        spec = self._inputs[position]
        try:
            # Most often an array: this is the path of every call.
            if isinstance(value, np.ndarray):
                return Buffer.from_numpy(value)._core
            if isinstance(value, (bool, int, float, np.generic)):
                return self._core_of_number(position, value)
            if hasattr(value, "__dlpack__"):
                return Buffer.from_dlpack(value)._core
        except (KvernError, BufferError, OverflowError) as error:
            kind = InputTypeError if isinstance(error, TypeError) else InputError
            raise kind(f"input {position} ('{spec.name}'): {error}") from error
        raise InputTypeError(
            f"expected input {position} ('{spec.name}') to be a Buffer, a NumPy array, a DLPack array or, "
            f"for rank 0, a number, but got {type(value).__name__}"
        )

    def _core_of_number(self, position: int, value: Any) -> _runtime.Buffer:
        spec = self._inputs[position]
        if spec.shape:
            raise InputError(f"expected shape [{', '.join(spec.dims)}], but got the number {value}")
        if self._mutable[position]:
            raise InputError("expected a buffer to change in place, but got a number")
        array = np.asarray(value)
        dtype = spec.dtype.to_ml_dtypes()
        # Floats take integers; nothing else loses what the caller wrote.
        if not (spec.dtype.is_float() and array.dtype.kind in "biuf"):
            exact = array.astype(dtype)
            if (array.dtype.kind == "f" and spec.dtype.is_integral()) or exact != array:
                raise InputError(f"expected a {spec.dtype}, but got {value!r}")
        return Buffer.scalar(array.item(), spec.dtype)._core

    def __repr__(self) -> str:
        return f"Model({self._name}, inputs={self._inputs}, outputs={self._outputs})"


class _Missing:
    """The place of an input that was not given."""


_MISSING = _Missing()
