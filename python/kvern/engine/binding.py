# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binds weights: finds the data of each, derives what programs read of them, and keeps that in a file on request."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kvern import _runtime
from kvern.driver import Buffer
from kvern.engine.compiled import CompiledModel
from kvern.engine.packed_file import PackedFile, layout_key, read_packed, write_packed
from kvern.errors import WeightError

__all__ = ["Progress", "WeightBinder"]

Progress: TypeAlias = Callable[[int, int, str], object]


class _Origin:
    """What the derived weights of a weight set were made of."""

    def __init__(self, names: dict[Any, str], arrays: dict[int, weakref.ref[Any]]) -> None:
        self.names = names
        self.arrays = arrays


class WeightBinder:
    """Binds weights for one session.

    Weights that were derived from the same arrays by the same code are in memory once, as long as a model has them and
    the arrays exist. They are derived again to see whether they are still equal, unless the arrays are read-only.
    """

    def __init__(self) -> None:
        """Starts without weights."""
        self._bound: weakref.WeakKeyDictionary[_runtime.WeightSet, _Origin] = (
            weakref.WeakKeyDictionary()
        )

    def bind(
        self,
        compiled: CompiledModel,
        registry: Mapping[str, Any] | None,
        *,
        strict: bool,
        threads: int,
        progress: Progress | None = None,
        packed_weights: str | os.PathLike[str] | None = None,
    ) -> _runtime.WeightSet:
        """Binds the weights of an executable.

        Args:
            compiled: The executable.
            registry: Weight name to array.
            strict: Whether names that the executable does not have are errors.
            threads: Threads that derive weights; 0 for as many as there are.
            progress: Called when a weight has been derived, with the bytes derived, those to derive in all, and the
                name of the weight. What it raises ends the binding.
            packed_weights: Path of a file to keep the weights in as programs read them.

        Raises:
            ValueError: Weights are missing, unexpected, or of another dtype or shape, all listed; or the file cannot
                be used and no weights are given to write it again.
            OSError: The file is no file of packed weights, or cannot be written.
        """
        arrays = dict(registry or {})
        cores = _cores_of(arrays)
        if packed_weights is not None:
            # Originals go as soon as they are read.
            del arrays
            path = os.fspath(packed_weights)
            return _bind_with_file(compiled, cores, path, strict, threads, progress)
        identities = {name: _identity(array) for name, array in arrays.items()}
        del arrays
        names = _signatures(compiled._manifest, identities)
        frozen = {
            identity[0]
            for name, identity in identities.items()
            if identity and not cores[name].is_writable
        }
        derived, candidates = self._find(names, frozen)
        weights = _runtime.bind_weights(
            compiled._executable, cores, not strict, threads, derived, candidates, progress
        )
        kept = {key: ref for key, ref in filter(None, identities.values())}
        self._bound[weights] = _Origin(names, kept)
        return weights

    def _find(
        self, names: dict[Any, str], frozen: set[int]
    ) -> tuple[dict[str, _runtime.Buffer], dict[str, _runtime.Buffer]]:
        """Derived weights that another model of the session has, by the names they have here.

        First those made of read-only arrays only.
        """
        found: tuple[dict[str, _runtime.Buffer], dict[str, _runtime.Buffer]] = ({}, {})
        for weights, origin in list(self._bound.items()):
            # An array that is gone may have left its address to another one.
            alive = {key for key, array in origin.arrays.items() if array() is not None}
            shared = [key for key in names.keys() & origin.names.keys() if _arrays_of(key) <= alive]
            if shared:
                tensors = weights.tensors()
                for key in shared:
                    if origin.names[key] in tensors:
                        kind = found[0 if _arrays_of(key) <= frozen else 1]
                        kind[names[key]] = tensors[origin.names[key]]
        return found


def _cores_of(arrays: Mapping[str, Any]) -> dict[str, _runtime.Buffer]:
    cores: dict[str, _runtime.Buffer] = {}
    problems: list[str] = []
    for name, value in arrays.items():
        try:
            cores[name] = Buffer.from_dlpack(value)._core
        except (ValueError, TypeError, BufferError) as error:
            problems.append(f"\n  unusable: '{name}': {error}")
    if problems:
        raise WeightError("weights do not match the model:" + "".join(problems))
    return cores


def _identity(array: Any) -> tuple[int, weakref.ref[Any]] | None:
    try:
        return id(array), weakref.ref(array)
    except TypeError:
        return None


def _signatures(
    manifest: Mapping[str, Any], identities: Mapping[str, tuple[int, Any] | None]
) -> dict[Any, str]:
    """What each derived weight is computed from, and how: equal for equal contents. To its name."""
    signatures: list[Any] = []
    for weight in manifest["weights"]:
        signature = None
        if "initializer" in weight:
            fingerprint = manifest["initializers"][weight["initializer"]]["fingerprint"]
            inputs = [(signatures[i], tuple(shape)) for i, shape in weight["inputs"]]
            if all(source is not None for source, _ in inputs):
                signature = (fingerprint, tuple(inputs))
        elif weight["is_external"] and (identity := identities.get(weight["name"])):
            signature = identity[0]
        signatures.append(signature)
    return {
        signature: weight["name"]
        for signature, weight in zip(signatures, manifest["weights"], strict=True)
        if isinstance(signature, tuple)
    }


def _arrays_of(signature: Any) -> set[int]:
    if isinstance(signature, int):
        return {signature}
    return {array for source, _ in signature[1] for array in _arrays_of(source)}


def _bind_with_file(
    compiled: CompiledModel,
    cores: dict[str, _runtime.Buffer],
    path: str,
    strict: bool,
    threads: int,
    progress: Progress | None,
) -> _runtime.WeightSet:
    manifest = compiled._manifest
    key = layout_key(manifest)
    file: PackedFile | None = None
    try:
        file = read_packed(path, key)
    except FileNotFoundError:
        pass
    except WeightError:
        if not cores:
            raise
    external = [weight["name"] for weight in manifest["weights"] if weight["is_external"]]
    hashes = {name: _runtime.content_hash(cores[name]) for name in external if name in cores}
    if file and all(file.originals.get(name) == hashes[name] for name in hashes):
        given = {name: core for name, core in cores.items() if name not in file.originals}
        return _bind_packed(compiled, file, given, strict, threads)
    weights = _runtime.bind_weights(
        compiled._executable, cores, not strict, threads, progress=progress
    )
    write_packed(path, key, weights.tensors(), hashes)
    # What the file holds need not be in memory too.
    del weights
    return _bind_packed(compiled, read_packed(path, key), {}, strict, threads)


def _bind_packed(
    compiled: CompiledModel,
    file: PackedFile,
    cores: dict[str, _runtime.Buffer],
    strict: bool,
    threads: int,
) -> _runtime.WeightSet:
    """Binds the tensors of a file; `cores` are those that it does not know."""
    weights, derived = dict(cores), {}
    for weight in compiled._manifest["weights"]:
        name = weight["name"]
        if "initializer" in weight and name in file.tensors:
            derived[name] = file.tensors[name]
        elif weight["is_external"] and name in file.tensors:
            weights[name] = file.tensors[name]
        elif weight["is_external"] and math.prod(weight["shape"]) == 0:
            weights[name] = _runtime.Buffer.allocate(weight["dtype"], weight["shape"])
    return _runtime.bind_weights(compiled._executable, weights, not strict, threads, derived)
