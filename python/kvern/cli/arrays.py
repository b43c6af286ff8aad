# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that a user gives by file, by size, or by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import InputError

if TYPE_CHECKING:
    from kvern.engine import CompiledModel, Model, TensorSpec

__all__ = ["inputs_of", "pairs", "weights_of"]


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Returns the values of an option that is given as NAME=VALUE, by name.

    Raises:
        ValueError: One has no `=`, or a name comes twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in found:
            raise InputError(f"expected {option} NAME=VALUE, each name once, but got {text!r}")
        found[name] = value
    return found


def inputs_of(
    model: Model, files: Mapping[str, str], sizes: Mapping[str, str], seed: int | None
) -> list[np.ndarray[Any, Any]]:
    """Returns the inputs of a model, in order.

    Args:
        model: The model.
        files: Path of a `.npy` file, by name of the input.
        sizes: Values of the symbolic sizes, as text, for inputs without a file.
        seed: Of the random numbers in inputs without a file; None when there must be a file for each.

    Raises:
        ValueError: A file or a size is missing, or one is not used.
    """
    specs = model.input_metadata
    unknown = sorted(set(files) - {spec.name for spec in specs})
    missing = [spec.name for spec in specs if spec.name not in files]
    if unknown or (missing and seed is None):
        problems = [f"no input is called {', '.join(unknown)}"] if unknown else []
        problems += [f"there is none for {', '.join(missing)}"] if missing and seed is None else []
        raise InputError(
            f"expected --input NAME=FILE.npy for {', '.join(spec.name for spec in specs) or 'no input'}, or --random, "
            f"but {' and '.join(problems)}"
        )
    generator = np.random.default_rng(seed)
    values = _sizes(specs, sizes, files)
    return [
        _read(files[spec.name], spec) if spec.name in files else _random(spec, values, generator)
        for spec in specs
    ]


def weights_of(
    compiled: CompiledModel, paths: Sequence[str], seed: int | None
) -> Mapping[str, Any]:
    """Returns the weights of an executable, by name.

    Args:
        compiled: The executable.
        paths: A `.gguf` or `.npz` file, or `.safetensors` files.
        seed: Of random weights, for those that are in no file; None when all must be.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A file is damaged.
    """
    registry: dict[str, Any] = {}
    if len(paths) == 1 and paths[0].endswith(".npz"):
        with np.load(paths[0], allow_pickle=False) as archive:
            registry.update(archive)
    elif paths:
        from kvern.graph.weights import load_weights

        registry.update({name: weight.data() for name, weight in load_weights(list(paths)).items()})
    registry = {name: array for name, array in registry.items() if name in compiled.weights}
    if seed is not None:
        generator = np.random.default_rng(seed)
        for name, spec in compiled.weights.items():
            if name not in registry:
                registry[name] = _random(spec, {}, generator, 0.02)
    return registry


def _sizes(
    specs: Sequence[TensorSpec], sizes: Mapping[str, str], files: Mapping[str, str]
) -> dict[str, int]:
    """The sizes that inputs without a file need."""
    names = {
        dim
        for spec in specs
        if spec.name not in files
        for dim, size in zip(spec.dims, spec.shape, strict=True)
        if size is None
    }
    simple = sorted(name for name in names if name.isidentifier())
    unknown, missing = sorted(set(sizes) - set(simple)), [n for n in simple if n not in sizes]
    if unknown or missing:
        raise InputError(
            f"expected --size NAME=NUMBER for {', '.join(simple) or 'no size'}, but got {', '.join(sizes) or 'none'}"
        )
    values = {}
    for name, text in sizes.items():
        if not text.isdecimal():
            raise InputError(f"expected --size {name}=NUMBER, 0 or more, but got {text!r}")
        values[name] = int(text)
    return values


def _random(
    spec: TensorSpec, sizes: Mapping[str, int], generator: np.random.Generator, scale: float = 1.0
) -> np.ndarray[Any, Any]:
    """Normal numbers; zeros for integers, which are most often indices."""
    shape = []
    for dim, size in zip(spec.dims, spec.shape, strict=True):
        if size is None and dim not in sizes:
            raise InputError(
                f"expected --input {spec.name}=FILE.npy: its size {dim} is computed from others"
            )
        shape.append(sizes[dim] if size is None else size)
    if not spec.dtype.is_float():
        return np.zeros(shape, spec.dtype.to_ml_dtypes())
    return (generator.standard_normal(shape, np.float32) * scale).astype(spec.dtype.to_ml_dtypes())


def _read(path: str, spec: TensorSpec) -> np.ndarray[Any, Any]:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path} for input {spec.name}")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"expected {path} to be a .npy file, but it is not: {error}") from None
    if spec.dtype is DType.bfloat16 and array.dtype == np.dtype("V2"):
        # NumPy does not know the type by its name.
        array = array.view(spec.dtype.to_ml_dtypes())
    return np.ascontiguousarray(array)
