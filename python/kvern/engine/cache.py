# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables, kernels and packed weights kept on disk between processes.

The folder is `$KVERN_CACHE_DIR`, else `$XDG_CACHE_HOME/kvern`, else `~/.cache/kvern`. An empty `KVERN_CACHE_DIR`
turns the cache off. Entries are written under another name and renamed, so that no reader sees half of one; an entry
that cannot be opened counts as absent and is written again.

The cache holds about `$KVERN_CACHE_SIZE` bytes (`500M`, `4G`; 2 GiB by default): when an entry is added, and at most
once a minute, those used longest ago are removed. An entry that a process has open stays usable when it is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import kvern
from kvern import _runtime
from kvern.errors import ArtifactError, InputError

__all__ = [
    "build_id",
    "cache_dir",
    "cache_key",
    "cache_size",
    "compile_cached",
    "kernel_dir",
    "packed_path",
    "replacing",
    "sources_id",
    "trim",
    "write_atomically",
]

_SUFFIX = ".kvernexe"
_KERNEL_SUFFIX = ".kvernkernel"
_PACKED_SUFFIX = ".kvernpacked"
_TEMPORARY_SUFFIX = ".tmp"
_DEFAULT_SIZE = 2 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# A use is noted, and the folder looked through, at most once a minute.
_TOUCH_SECONDS = 60
_TRIM_SECONDS = 60
# What a process that died while writing has left.
_STALE_SECONDS = 600


def cache_dir() -> Path | None:
    """Returns the folder of the cache, or None when it is turned off."""
    chosen = os.environ.get("KVERN_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification: relative paths are to be ignored.
    root = Path(base) if base and os.path.isabs(base) else Path("~/.cache").expanduser()
    return root / "kvern"


def kernel_dir() -> str:
    """Returns the folder of compiled kernels, or "" when the cache is turned off."""
    folder = cache_dir()
    return "" if folder is None else str(folder / "kernels")


def cache_size() -> int:
    """Returns how many bytes the cache may hold.

    Raises:
        ValueError: `KVERN_CACHE_SIZE` is no number of bytes.
    """
    text = os.environ.get("KVERN_CACHE_SIZE", "").strip()
    if not text:
        return _DEFAULT_SIZE
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        raise InputError(
            f"expected KVERN_CACHE_SIZE to be a size such as 500M or 2G, but got {text!r}"
        )
    return int(found[1]) * _UNITS[found[2].upper()]


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
        "build": build_id(),
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
        executable = _runtime.Executable.open(path)
        _touch(path)
        return executable
    data = compile()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, data)
        executable = _runtime.Executable.open(path)
    except OSError:
        # A full or read-only disk is no reason to fail.
        return _runtime.Executable.from_bytes(data)
    _trim_now_and_then(folder)
    return executable


def packed_path(key: str, size: int) -> Path | None:
    """Returns where packed weights are kept for later processes.

    Its folder is made when it is not there, and the use of the file is noted when it is.

    Args:
        key: What tells these weights from others; made of letters and digits.
        size: Bytes that they take.

    Returns:
        The path, or None: the cache is turned off, cannot be written, or would hold little besides.
    """
    folder = cache_dir()
    if folder is None or size > cache_size() // 2:
        return None
    path = folder / "packed" / (key + _PACKED_SUFFIX)
    if path.is_file():
        _touch(str(path))
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    # Makes room for what is written next.
    _trim_now_and_then(folder)
    return path


def trim(folder: Path, size: int) -> None:
    """Removes the entries used longest ago until the others take at most `size` bytes.

    Other processes may use and trim the folder at the same time. Files that are no entries stay.

    Args:
        folder: Folder of the cache.
        size: Bytes that may stay.
    """
    entries: list[tuple[float, int, str]] = []
    now = time.time()
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if not name.endswith((_SUFFIX, _KERNEL_SUFFIX, _PACKED_SUFFIX, _TEMPORARY_SUFFIX)):
                continue
            with contextlib.suppress(OSError):
                status = os.stat(path)
                if not name.endswith(_TEMPORARY_SUFFIX):
                    entries.append((status.st_mtime, status.st_size, path))
                elif now - status.st_mtime > _STALE_SECONDS:
                    os.unlink(path)
    total = sum(entry[1] for entry in entries)
    for _, bytes_, path in sorted(entries):
        if total <= size:
            break
        with contextlib.suppress(FileNotFoundError):
            try:
                os.unlink(path)
            except PermissionError:
                continue
        total -= bytes_


def _trim_now_and_then(folder: Path) -> None:
    """Trims the cache unless that was done within the last minute, by this process or another."""
    size = cache_size()
    marker = str(folder / ".trimmed")
    with contextlib.suppress(OSError):
        if 0 <= time.time() - os.stat(marker).st_mtime < _TRIM_SECONDS:
            return
    with contextlib.suppress(OSError):
        write_atomically(marker, b"")
        trim(folder, size)


def _touch(path: str) -> None:
    """Notes that an entry was used, for `trim`."""
    with contextlib.suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _TOUCH_SECONDS:
            os.utime(path)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Writes a file so that others see the old one or the new one, never a part.

    Args:
        path: Path of the file.

    Yields:
        What to write to; when the block ends without an exception, that is the file.

    Raises:
        OSError: The file cannot be written.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file of these contents; see `replacing`."""
    with replacing(path) as file:
        file.write(data)


def build_id() -> list[str]:
    """Returns sizes and times of the native libraries that compile."""
    libraries = sorted(Path(_runtime.__file__).parent.glob("_mlir/_mlir_libs/*kvern*.so*"))
    libraries += sorted(Path(_runtime.__file__).parent.glob("_mlir/_mlir_libs/*Kvern*.so*"))
    stats = [library.stat() for library in libraries]
    return [f"{stat.st_size}:{stat.st_mtime_ns}" for stat in stats]


def sources_id() -> str:
    """Returns a digest of sizes and times of the package's Python files, of which graphs are made."""
    digest = hashlib.sha256()
    # A build tree has links to folders, which a search does not follow.
    for path in sorted(Path(__file__).resolve().parents[1].rglob("*.py")):
        status = path.stat()
        digest.update(f"{path.name}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
