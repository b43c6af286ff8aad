# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables kept on disk between processes.

The folder is `$KVERN_CACHE_DIR`, else `$XDG_CACHE_HOME/kvern`, else `~/.cache/kvern`. An empty `KVERN_CACHE_DIR`
turns the cache off. Entries are written under another name and renamed, so that no reader sees half of one; an entry
that cannot be opened counts as absent and is written again. Nothing is ever removed: delete the folder to free space.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import kvern
from kvern import _runtime
from kvern.errors import ArtifactError

__all__ = ["cache_dir", "cache_key", "compile_cached", "write_atomically"]

_SUFFIX = ".kvernexe"


def cache_dir() -> Path | None:
    """Returns the folder of the cache, or None when it is turned off."""
    chosen = os.environ.get("KVERN_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification: relative paths are to be ignored.
    root = Path(base) if base and os.path.isabs(base) else Path("~/.cache").expanduser()
    return root / "kvern"


def cache_key(ir: str | bytes, options: Mapping[str, Any]) -> str:
    """Returns what tells one executable from another.

    Args:
        ir: The graph, with everything that compilation depends on.
        options: Options of the compiler; values that JSON can hold.
    """
    digest = hashlib.sha256()
    facts = {
        "options": dict(options),
        "cpu": _runtime.host_cpu_brand(),
        "features": _runtime.host_cpu_features(),
        "version": kvern.__version__,
        # Tells builds of one version apart while kvern itself is being changed.
        "build": _build_id(),
    }
    digest.update(json.dumps(facts, sort_keys=True).encode())
    digest.update(b"\0")
    digest.update(ir.encode() if isinstance(ir, str) else ir)
    return digest.hexdigest()


def compile_cached(key: str, compile: Callable[[], bytes]) -> _runtime.Executable:
    """Opens the executable of a key, compiling it when the cache has none.

    Args:
        key: From `cache_key`.
        compile: Makes the bytes of the executable.

    Returns:
        The executable, mapped from the cache when that is possible.
    """
    folder = cache_dir()
    if folder is None:
        return _runtime.Executable.from_bytes(compile())
    path = str(folder / key[:2] / (key + _SUFFIX))
    # A damaged entry, or one of an older format: compile again.
    with contextlib.suppress(ArtifactError, OSError):
        return _runtime.Executable.open(path)
    data = compile()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, data)
        return _runtime.Executable.open(path)
    except OSError:
        # A full or read-only disk is no reason to fail.
        return _runtime.Executable.from_bytes(data)


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file so that others see the old one or the new one, never a part.

    Args:
        path: Path of the file.
        data: Its contents.

    Raises:
        OSError: The file cannot be written.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _build_id() -> list[str]:
    """Sizes and times of the native libraries that compile."""
    libraries = sorted(Path(_runtime.__file__).parent.glob("_mlir/_mlir_libs/*kvern*.so*"))
    libraries += sorted(Path(_runtime.__file__).parent.glob("_mlir/_mlir_libs/*Kvern*.so*"))
    stats = [library.stat() for library in libraries]
    return [f"{stat.st_size}:{stat.st_mtime_ns}" for stat in stats]
