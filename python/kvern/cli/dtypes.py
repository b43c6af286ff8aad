# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types as options of commands name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kvern.dtype import DType

__all__ = ["WEIGHT_DTYPES", "dtype_of"]

WEIGHT_DTYPES = click.Choice(["stored", "float32", "bfloat16"])
"""What weights of a checkpoint can be."""


def dtype_of(name: str | None) -> DType | None:
    """Returns the type of a name; None for "stored", as for none."""
    from kvern.dtype import DType

    return None if name in (None, "stored") else DType[name]
