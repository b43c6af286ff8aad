# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a graph or a file to models."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kvern import _runtime
from kvern.driver import CPU, Device, DLPackArray
from kvern.engine.binding import Progress, WeightBinder
from kvern.engine.cache import build_id, cache_key, compile_cached, kernel_dir, sources_id
from kvern.engine.compile_report import Stopwatch
from kvern.engine.compiled import CompiledModel
from kvern.engine.model import Model
from kvern.errors import DeviceError, InputError, InputTypeError, UnsupportedError

if TYPE_CHECKING:
    from kvern.graph import Graph, Module

__all__ = ["CustomExtensionsType", "GPUProfilingMode", "InferenceSession", "LogLevel"]

CustomExtensionsType: TypeAlias = "Path | str | Iterable[Path | str]"
GPUProfilingMode: TypeAlias = Literal["off", "on", "detailed"]

# Beyond this the runtime adds no thread to a run.
_MAX_THREADS = 256


class LogLevel(enum.IntEnum):
    """Severity of log messages."""

    NOTSET = 0
    TRACE = 5
    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40
    CRITICAL = 50


class InferenceSession:
    """Compiles graphs and makes models of them.

    Compilation does not depend on weights, and its result is kept on disk (see `kvern.engine.cache`): the second
    time, and in the next process, it costs milliseconds. A session may be used from several threads.
    """

    def __init__(
        self,
        devices: Iterable[Device] = (),
        num_threads: int | None = None,
        *,
        custom_extensions: CustomExtensionsType | None = None,
        precompiled_mefs: Any = None,
        export_mefs: Any = None,
    ) -> None:
        """Opens a session.

        Args:
            devices: Devices that models may use; the host CPU is always among them.
            num_threads: The most threads that a run uses, the calling one included; the sessions of a process share
                the others. None stands for the environment variable KVERN_NUM_THREADS, or else for the cores that
                the process may use (affinity mask and cgroup quota). Results do not depend on it.
            custom_extensions: Libraries of custom kernels; not supported.
            precompiled_mefs: Not supported: pass the path of a saved executable to `load`.
            export_mefs: Not supported: use `CompiledModel.save`.

        Raises:
            ValueError: A device that this build cannot drive, or an option that is not supported (the latter is a
                NotImplementedError too).
        """
        found: list[Device] = []
        for device in devices:
            if not isinstance(device, Device):
                raise DeviceError(f"expected driver devices, but got {type(device).__name__}")
            found.append(device)
        self._devices = list(dict.fromkeys([*found, CPU()]))
        if num_threads is not None and num_threads < 1:
            raise InputError(f"expected num_threads >= 1, but got {num_threads}")
        self._threads = 0 if num_threads is None else min(num_threads, _MAX_THREADS)
        self._binder = WeightBinder()
        _refuse(custom_extensions, "custom_extensions: there are no custom kernels yet")
        _refuse(precompiled_mefs, "precompiled_mefs: pass the path of a saved executable to load")
        _refuse(export_mefs, "export_mefs: use CompiledModel.save")

    @property
    def devices(self) -> list[Device]:
        """The devices of the session."""
        return list(self._devices)

    def compile(
        self,
        model: Graph | Module | str | os.PathLike[str] | bytes,
        *,
        custom_extensions: CustomExtensionsType | None = None,
        progress: Progress | None = None,
    ) -> CompiledModel:
        """Compiles graphs; needs neither weights nor their memory.

        Args:
            model: A Graph, a Module of graphs, or an executable: its path (then the file must not change in place
                while it is in use) or its bytes.
            custom_extensions: Libraries of custom kernels; not supported.
            progress: Called when a kernel or the host program is done, with how many are, of how many, and the name
                of this one. What it raises ends the compilation.

        Raises:
            TypeError: `model` is of another type.
            FileNotFoundError: There is no such file.
            ValueError: The file is damaged or not for this machine, or the graph is not complete.
            RuntimeError: The compiler failed.
        """
        _refuse(custom_extensions, "custom_extensions: there are no custom kernels yet")
        if isinstance(model, (str, os.PathLike)):
            path = os.fspath(model)
            # For FileNotFoundError and its kin rather than a FileError.
            os.stat(path)
            return CompiledModel(_runtime.Executable.open(path))
        if isinstance(model, bytes):
            return CompiledModel(_runtime.Executable.from_bytes(model))
        return _compile_graph(model, progress)

    def compile_known(
        self, facts: str, build: Callable[[], Graph | Module], *, progress: Progress | None = None
    ) -> CompiledModel:
        """Compiles the graph that `build` returns, unless its executable is in the cache by `facts`.

        Then nothing is built and no MLIR is loaded. `compile` finds executables too, but by the graph itself.

        Args:
            facts: All that the graph depends on besides kvern itself, as text: the configuration of a model, say.
            build: Makes the graph.
            progress: See `compile`.

        Raises:
            ValueError: See `compile`.
            RuntimeError: The compiler failed.
        """
        key = cache_key(facts, {"sources": sources_id()})
        found: list[CompiledModel] = []

        def compile() -> bytes:
            found.append(self.compile(build(), progress=progress))
            return found[0]._executable.to_bytes()

        executable = compile_cached(key, compile)
        return found[0] if found else CompiledModel(executable)

    def init(
        self,
        compiled: CompiledModel,
        *,
        weights_registry: Mapping[str, DLPackArray] | None = None,
        strict: bool = True,
        progress: Progress | None = None,
        packed_weights: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Binds the weights of a compiled graph.

        Weights of products are brought into the order in which the products read them, and what else depends on
        weights alone is computed, once, here. What no program reads afterwards is let go: references to its array, and
        its pages when it is mapped from a file. Models of one session that get the same arrays share the results.

        Args:
            compiled: From `compile`, with one graph.
            weights_registry: Weight name to array (Buffer, NumPy or any DLPack array). Contiguous memory is used in
                place and must not be freed or resized; other memory is copied.
            strict: Whether names that the graph does not use are errors.
            progress: Called when a weight has been prepared, with the bytes prepared, those to prepare in all, and
                the name of the weight. What it raises ends the loading.
            packed_weights: Path of a file for the weights as the programs read them. The first time it is written; from
                then on it is mapped, nothing is computed, and weights need not be given. Weights that are given are
                compared with those that the file was made of, by content, and if they differ the file is written
                again.

        Raises:
            ValueError: Weights are missing, unexpected, or of another dtype or shape, all listed; or `compiled`
                holds several graphs; or the file of packed weights is damaged or made for another graph, and no
                weights are given to write it again.
            OSError: There is a file at `packed_weights` that is none of packed weights, or it cannot be written.
        """
        programs = compiled._manifest["programs"]
        if len(programs) != 1:
            raise InputError(
                f"expected one graph, but got {compiled.graph_names}; use init_all or load_all"
            )
        weights = self._bind(compiled, weights_registry, strict, progress, packed_weights)
        return Model(weights, programs[0], self._threads, compiled.compile_report())

    def init_all(
        self,
        compiled: CompiledModel,
        *,
        weights_registry: Mapping[str, DLPackArray] | None = None,
        strict: bool = True,
        progress: Progress | None = None,
        packed_weights: str | os.PathLike[str] | None = None,
    ) -> dict[str, Model]:
        """Binds the weights of all graphs, once for all of them; see `init`.

        Returns:
            The models by name of their graph.
        """
        weights = self._bind(compiled, weights_registry, strict, progress, packed_weights)
        return {
            program["name"]: Model(weights, program, self._threads, compiled.compile_report())
            for program in compiled._manifest["programs"]
        }

    def load(
        self,
        model: Graph | Module | str | os.PathLike[str] | bytes,
        *,
        custom_extensions: CustomExtensionsType | None = None,
        weights_registry: Mapping[str, DLPackArray] | None = None,
        strict: bool = True,
        progress: Progress | None = None,
        packed_weights: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Compiles a graph and binds its weights: `compile` and `init`.

        `progress` is called by both, first for kernels and then for weights.
        """
        compiled = self.compile(model, custom_extensions=custom_extensions, progress=progress)
        return self.init(
            compiled,
            weights_registry=weights_registry,
            strict=strict,
            progress=progress,
            packed_weights=packed_weights,
        )

    def load_all(
        self,
        model: Graph | Module | str | os.PathLike[str] | bytes,
        *,
        custom_extensions: CustomExtensionsType | None = None,
        weights_registry: Mapping[str, DLPackArray] | None = None,
        strict: bool = True,
        progress: Progress | None = None,
        packed_weights: str | os.PathLike[str] | None = None,
    ) -> dict[str, Model]:
        """Compiles several graphs and binds their weights: `compile` and `init_all`; see `load`."""
        compiled = self.compile(model, custom_extensions=custom_extensions, progress=progress)
        return self.init_all(
            compiled,
            weights_registry=weights_registry,
            strict=strict,
            progress=progress,
            packed_weights=packed_weights,
        )

    def _bind(
        self,
        compiled: CompiledModel,
        registry: Mapping[str, Any] | None,
        strict: bool,
        progress: Progress | None,
        packed_weights: str | os.PathLike[str] | None,
    ) -> _runtime.WeightSet:
        return self._binder.bind(
            compiled,
            registry,
            strict=strict,
            threads=self._threads,
            progress=progress,
            packed_weights=packed_weights,
        )

    def gpu_profiling(self, mode: GPUProfilingMode) -> None:
        """Chooses how GPU work is profiled.

        Args:
            mode: "off", "on" or "detailed".

        Raises:
            ValueError: An unknown mode, or profiling without a GPU.
        """
        if mode not in ("off", "on", "detailed"):
            raise InputError(f"expected mode 'off', 'on' or 'detailed', but got {mode!r}")
        if mode != "off":
            raise DeviceError("GPU profiling needs an accelerator, but accelerator_count() is 0")

    def __repr__(self) -> str:
        return f"InferenceSession(devices={self._devices})"


def _refuse(value: Any, why: str) -> None:
    if value is not None and value != () and value != []:
        raise UnsupportedError(f"unsupported option {why}")


def _compile_graph(model: Graph | Module, progress: Progress | None) -> CompiledModel:
    # Imported here: an executable from a file needs no MLIR.
    from kvern.graph import Graph, Module

    if not isinstance(model, (Graph, Module)):
        raise InputTypeError(
            f"expected a Graph, a Module of graphs, or an executable's path or bytes, "
            f"but got {type(model).__name__}"
        )
    from kvern.graph import _compile

    options: dict[str, Any] = {}
    stopwatch = Stopwatch()

    def compile() -> bytes:
        stopwatch.end("lookup")
        data, report = _compile.compile_graph_module(
            model,
            options,
            build=" ".join(build_id()),
            kernel_folder=kernel_dir(),
            progress=progress,
        )
        stopwatch.take(report)
        return data

    key = cache_key(_compile.serialize_module(model), options)
    stopwatch.end("serialize")
    executable = compile_cached(key, compile)
    stopwatch.end("open")
    return CompiledModel(executable, stopwatch.report())
