# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a checkpoint to a model that runs: read, compile, bind."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from kvern import models
from kvern.dtype import DType
from kvern.engine import CompiledModel, InferenceSession, Model
from kvern.engine.cache import packed_path
from kvern.errors import WeightError
from kvern.graph import DeviceRef, Graph
from kvern.nn.kv_cache import KVCacheQuantizationConfig
from kvern.pipelines.sampling import SamplingConfig, token_sampler
from kvern.pipelines.tokenizer import Tokenizer

__all__ = ["LoadedModel", "Progress", "load_model"]

# Phase, how much of it is done, of how much, and what it is at.
Progress: TypeAlias = Callable[[str, int, int, str], None]

# Element types of caches whose elements have scales.
_SCALED = (DType.int8, DType.float8_e4m3fn)


class Samplers:
    """What draws tokens: one graph without penalties and one with, compiled when it is asked for."""

    def __init__(self, session: InferenceSession, device: DeviceRef) -> None:
        """Compiles nothing yet."""
        self._session = session
        self._device = device
        self._models: dict[bool, Model] = {}

    def __call__(self, penalties: bool, progress: Callable[..., Any] | None = None) -> Model:
        """Returns a model of `token_sampler`; `progress` is that of `InferenceSession.compile`."""
        found = self._models.get(penalties)
        if found is None:
            config = SamplingConfig(enable_penalties=penalties)
            compiled = self._session.compile_known(
                f"{config} {self._device}",
                lambda: token_sampler(config, self._device),
                progress=progress,
            )
            found = self._models[penalties] = self._session.init(compiled)
        return found


@dataclass
class LoadedModel:
    """A model with all that generation needs.

    Attributes:
        checkpoint: What it was made of.
        config: Its sizes.
        tokenizer: Of the checkpoint.
        kv_params: Parameters of the cache.
        session: What it was loaded by.
        model: The compiled graph with its weights.
        samplers: What draws tokens.
        seconds: Seconds by phase.
    """

    checkpoint: Any
    config: Any
    tokenizer: Tokenizer
    kv_params: Any
    session: InferenceSession
    model: Model
    samplers: Samplers
    seconds: dict[str, float] = field(default_factory=dict)


def load_model(
    source: str | os.PathLike[str],
    *,
    device: DeviceRef | None = None,
    dtype: DType | None = None,
    cache_dtype: DType | None = None,
    page_size: int = 128,
    enable_prefix_caching: bool = True,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> LoadedModel:
    """Loads a checkpoint; see `TextGeneration`."""
    report = progress or _no_progress
    seconds: dict[str, float] = {}

    @contextmanager
    def phase(name: str) -> Iterator[Callable[[int, int, str], None]]:
        start = time.perf_counter()
        report(name, 0, 0, "")
        yield lambda done, total, item="": report(name, done, total, item)
        seconds[name] = time.perf_counter() - start

    with phase("read"):
        checkpoint = models.open_checkpoint(source)
        tokenizer = _tokenizer(checkpoint)
    config = checkpoint.config
    tokenizer.eos_ids |= frozenset(config.eos_token_ids)
    params = models.kv_params(
        config,
        dtype=dtype,
        cache_dtype=cache_dtype,
        page_size=page_size,
        enable_prefix_caching=enable_prefix_caching,
        device=device,
        kvcache_quant_config=KVCacheQuantizationConfig() if cache_dtype in _SCALED else None,
    )
    session = InferenceSession(num_threads=num_threads)
    with phase("compile") as step:

        def build() -> Graph:
            module = models.build_model(config, dtype=dtype, device=device, kv_params=params)
            return models.build_graph(config, module, params)

        facts = f"{config!r} {dtype} {device} {params!r}"
        compiled = session.compile_known(facts, build, progress=step)
        samplers = Samplers(session, device or DeviceRef.CPU())
        samplers(False, step)
    with phase("pack") as step:
        model = _bind(session, compiled, checkpoint, dtype, step)
    return LoadedModel(checkpoint, config, tokenizer, params, session, model, samplers, seconds)


def _tokenizer(checkpoint: Any) -> Tokenizer:
    source = checkpoint.tokenizer_source
    if isinstance(source, (str, os.PathLike)):
        folder = Path(source)
        return Tokenizer.from_directory(folder.parent if folder.suffix == ".json" else folder)
    return Tokenizer.from_gguf(source)


def _bind(
    session: InferenceSession,
    compiled: CompiledModel,
    checkpoint: Any,
    dtype: DType | None,
    progress: Callable[[int, int, str], None],
) -> Model:
    """Binds the packed weights of an earlier run, or those of the checkpoint and keeps them packed."""
    path = _packed_path(checkpoint, compiled)
    if path is not None and path.is_file():
        try:
            return session.init(compiled, packed_weights=path, progress=progress)
        except (WeightError, OSError):
            # Damaged, or of another version: it is written again.
            with suppress(OSError):
                path.unlink()
    weights = checkpoint.state_dict(dtype)
    if path is not None:
        try:
            return session.init(
                compiled, weights_registry=weights, packed_weights=path, progress=progress
            )
        except OSError:
            # A full or read-only disk is no reason to fail.
            pass
    return session.init(compiled, weights_registry=weights, progress=progress)


def _packed_path(checkpoint: Any, compiled: CompiledModel) -> Path | None:
    """Where the packed weights of these files and this executable are kept; None when they are not."""
    digest = hashlib.sha256(compiled.packed_layout.encode())
    for file in _files(Path(checkpoint.path)):
        status = file.stat()
        digest.update(f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    weights = compiled.weights.values()
    size = sum(math.prod(dim or 0 for dim in w.shape) * w.dtype.size_in_bytes for w in weights)
    return packed_path(digest.hexdigest(), size)


def _files(path: Path) -> list[Path]:
    return sorted(f for f in path.iterdir() if f.is_file()) if path.is_dir() else [path]


def _no_progress(phase: str, done: int, total: int, item: str) -> None:
    """Shows nothing. That it is called lets Ctrl-C end a phase."""
