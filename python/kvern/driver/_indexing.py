# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's basic indexing as an offset, a shape and strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvern import _runtime
from kvern.errors import InputTypeError, KvernError


class BufferIndexError(KvernError, IndexError):
    """An index is out of range."""


def view_of(index: Any, core: _runtime.Buffer) -> tuple[int, list[int], list[int]]:
    """Offset, shape and strides, in elements, of NumPy's basic indexing."""
    items = index if isinstance(index, tuple) else (index,)
    shape, strides = core.shape, core.strides
    ellipses = sum(item is Ellipsis for item in items)
    used = sum(item is not None and item is not Ellipsis for item in items)
    if ellipses > 1 or used > len(shape):
        raise BufferIndexError(
            f"expected at most {len(shape)} indices and one '...' for shape {list(shape)}, but got {index!r}"
        )
    if not ellipses:
        items = (*items, Ellipsis)

    offset, new_shape, new_strides = 0, [], []
    dim = 0
    for item in items:
        if item is None:
            new_shape.append(1)
            new_strides.append(0)
        elif item is Ellipsis:
            end = dim + len(shape) - used
            new_shape += shape[dim:end]
            new_strides += strides[dim:end]
            dim = end
        elif isinstance(item, slice):
            start, stop, step = item.indices(shape[dim])
            count = len(range(start, stop, step))
            offset += start * strides[dim] if count else 0
            new_shape.append(count)
            new_strides.append(strides[dim] * step)
            dim += 1
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            position = int(item) + (shape[dim] if item < 0 else 0)
            if not 0 <= position < shape[dim]:
                raise BufferIndexError(
                    f"index {item} is out of range for dim {dim} of size {shape[dim]}"
                )
            offset += position * strides[dim]
            dim += 1
        else:
            raise InputTypeError(
                f"expected ints, slices, '...' and None as indices, but got {type(item).__name__}"
            )
    return offset, new_shape, new_strides
