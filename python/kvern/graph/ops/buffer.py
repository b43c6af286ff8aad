# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that is changed in place; reads and writes happen in the order of staging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.graph._convert import to_buffer, to_tensor
from kvern.graph._slicing import buffer_bounds
from kvern.graph._staging import stage, stage_tensor

if TYPE_CHECKING:
    from kvern.graph.value import BufferValueLike, TensorValue, TensorValueLike

__all__ = ["buffer_load", "buffer_store", "buffer_store_slice"]


def buffer_load(x: BufferValueLike) -> TensorValue:
    """Returns the contents of a buffer as they are now.

    Args:
        x: A buffer.

    Raises:
        TypeError: x is no buffer.
    """
    return stage_tensor("buffer_load", to_buffer("buffer_load", x))


def buffer_store(destination: BufferValueLike, source: TensorValueLike) -> None:
    """Overwrites a buffer.

    Args:
        destination: A buffer.
        source: A tensor of its shape and element type, on its device.

    Raises:
        TypeError: `destination` is no buffer, or the element types differ.
        ValueError: The shapes or devices differ.
    """
    buffer = to_buffer("buffer_store", destination)
    value = to_tensor("buffer_store", source, buffer.dtype, buffer.device)
    stage("buffer_store", buffer, value)


def buffer_store_slice(destination: BufferValueLike, source: TensorValueLike, indices: Any) -> None:
    """Overwrites a part of a buffer.

    Args:
        destination: A buffer.
        source: A tensor of the shape that the same indices give on a tensor, with the buffer's element type.
        indices: An index or a tuple of them: ints, slices, `...`, scalar integer tensors. A slice with
            run-time bounds stands in a pair with the size it makes.

    Raises:
        TypeError: `destination` is no buffer, or the element types differ.
        ValueError: The shapes or devices differ, or the indices do not fit.
    """
    buffer = to_buffer("buffer_store_slice", destination)
    value = to_tensor("buffer_store_slice", source, buffer.dtype, buffer.device)
    bounds, value = buffer_bounds("buffer_store_slice", buffer, value, indices)
    stage(
        "buffer_store_slice", buffer, value, bounds.operands, **bounds.attributes(with_sizes=False)
    )
