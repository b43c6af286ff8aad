# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph to stage into, with inputs of given shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kvern.dtype import DType
from kvern.graph import DeviceRef, Graph, TensorType


def tensor(shape: Sequence[Any], dtype: DType = DType.float32) -> TensorType:
    return TensorType(dtype, shape, DeviceRef.CPU())


@contextmanager
def staging(*types: Any) -> Iterator[list[Any]]:
    """Opens a graph; gives its inputs."""
    with Graph("test", input_types=[t if hasattr(t, "dtype") else tensor(t) for t in types]) as g:
        yield list(g.inputs)
