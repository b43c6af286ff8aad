# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions of kvern.

Every failure that kvern reports is a `KvernError`. Each class also derives from the builtin exception that the
documented API promises, so `except ValueError` in code written for that API keeps working.
"""

from __future__ import annotations

__all__ = [
    "ArtifactError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "ExecutionError",
    "FileError",
    "GraphContextError",
    "GraphError",
    "InputError",
    "InputTypeError",
    "InsufficientBlocksError",
    "KVCacheError",
    "KvernError",
    "OutOfMemoryError",
    "ShapeError",
    "UnsupportedError",
    "WeightError",
]


class KvernError(Exception):
    """Base of all exceptions raised by kvern."""


class GraphError(KvernError, ValueError):
    """A graph was built from values that do not fit together."""


class ShapeError(GraphError):
    """A shape, rank, axis or dim is not what the operation expects."""


class DTypeError(GraphError, TypeError):
    """An element type is not what the operation expects."""


class DeviceError(GraphError):
    """A device does not exist, or values live on different devices."""


class GraphContextError(GraphError, RuntimeError, LookupError):
    """An op was staged outside a graph, or a value belongs to another graph."""


class WeightError(GraphError):
    """A weight is missing, unexpected, or has another dtype or shape than declared."""


class InputError(KvernError, ValueError):
    """An input of a model has the wrong shape, dtype, device or layout."""


class InputTypeError(InputError, TypeError):
    """A model was called with the wrong number, names or Python types of inputs."""


class CompileError(KvernError, RuntimeError):
    """The compiler could not produce an executable for a valid graph."""


class ExecutionError(KvernError, RuntimeError):
    """A model failed while running, for example by a failed run-time check."""


class ArtifactError(KvernError, ValueError):
    """An executable file is damaged, of another version, or not for this machine."""


class KVCacheError(KvernError, RuntimeError, ValueError):
    """A request was used wrongly with a cache: claimed twice, say, or never."""


class InsufficientBlocksError(KVCacheError):
    """A cache has too few pages left; the request is as it was before."""


class OutOfMemoryError(KvernError, MemoryError):
    """There is no memory for a buffer, an output or a workspace."""


class FileError(KvernError, OSError):
    """A file cannot be opened, read or mapped."""


class UnsupportedError(KvernError, NotImplementedError, ValueError):
    """Something documented that this build or this machine cannot do; never ignored in silence."""
