# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of tensors, and the numeric limits of the floating ones."""

from __future__ import annotations

import builtins
import enum
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from kvern.errors import KvernError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["DType", "finfo"]


class _DTypeValueError(KvernError, ValueError):
    """A dtype has no counterpart on the other side of a conversion."""


class _DTypeTypeError(KvernError, TypeError):
    """A dtype is of the wrong kind for the request."""


class DType(enum.Enum):
    """The element type of a tensor, a buffer or a weight.

    The values are codes stored in executable files; do not rely on them. Elements narrower than a byte
    (`float4_e2m1fn`) take one byte each in memory.
    """

    bool = 1
    float4_e2m1fn = 64
    float8_e8m0fnu = 73
    float8_e4m3fn = 75
    float8_e4m3fnuz = 76
    float8_e5m2 = 77
    float8_e5m2fnuz = 78
    float16 = 79
    bfloat16 = 80
    float32 = 81
    float64 = 82
    uint8 = 134
    int8 = 135
    uint16 = 136
    int16 = 137
    uint32 = 138
    int32 = 139
    uint64 = 140
    int64 = 141

    @property
    def size_in_bytes(self) -> int:
        """Bytes that one element takes in memory (1 for `float4_e2m1fn`)."""
        return _SIZES[self]

    @property
    def align(self) -> int:
        """Natural alignment of an element in bytes; equal to `size_in_bytes`."""
        return _SIZES[self]

    def is_float(self) -> builtins.bool:
        """Whether this is a floating type, float8 and float4 included."""
        return self.name.startswith(("float", "bfloat"))

    def is_integral(self) -> builtins.bool:
        """Whether this is a signed or unsigned integer type; `bool` is not one."""
        return self.name.startswith(("int", "uint"))

    def is_signed_integral(self) -> builtins.bool:
        """Whether this is a signed integer type."""
        return self.name.startswith("int")

    def is_unsigned_integral(self) -> builtins.bool:
        """Whether this is an unsigned integer type; `bool` is not one."""
        return self.name.startswith("uint")

    def is_half(self) -> builtins.bool:
        """Whether this is one of the 16-bit floating types."""
        return self in (DType.float16, DType.bfloat16)

    def is_float8(self) -> builtins.bool:
        """Whether this is one of the 8-bit floating types."""
        return self.name.startswith("float8")

    @classmethod
    def from_numpy(cls, np_dtype: npt.DTypeLike) -> DType:
        """Returns the DType of a NumPy dtype.

        Args:
            np_dtype: Anything `np.dtype` accepts; the extension types of ml_dtypes are known too.

        Raises:
            ValueError: There is no such element type here (complex, strings, other byte order, ...).
        """
        try:
            return _FROM_NUMPY[np.dtype(np_dtype)]
        except (KeyError, TypeError):
            raise _DTypeValueError(f"unsupported NumPy dtype {np_dtype!r}") from None

    def to_numpy(self) -> np.dtype[Any]:
        """Returns the NumPy dtype.

        Raises:
            ValueError: NumPy itself has no such type (bfloat16, float8, float4); `to_ml_dtypes` has.
        """
        if self in _EXTENSION_TYPES:
            raise _DTypeValueError(
                f"NumPy has no dtype for {self.name}; use DType.to_ml_dtypes() for the one of ml_dtypes"
            )
        return _TO_NUMPY[self]

    def to_ml_dtypes(self) -> np.dtype[Any]:
        """Returns the NumPy dtype, that of the ml_dtypes package where NumPy itself has none."""
        return _TO_NUMPY[self]

    @classmethod
    def from_torch(cls, torch_dtype: Any) -> DType:
        """Returns the DType of a `torch.dtype`; needs no import of torch.

        Raises:
            ValueError: There is no such element type here.
        """
        name = str(torch_dtype).removeprefix("torch.")
        name = {"half": "float16", "float": "float32", "double": "float64"}.get(name, name)
        try:
            return cls[name]
        except KeyError:
            raise _DTypeValueError(f"unsupported torch dtype {torch_dtype!r}") from None

    def to_torch(self) -> Any:
        """Returns the `torch.dtype`.

        Raises:
            ValueError: torch has no such type.
        """
        import torch  # pyright: ignore[reportMissingImports]

        found = getattr(torch, self.name, None)
        if found is None:
            raise _DTypeValueError(f"torch has no dtype for {self.name}")
        return found

    def __repr__(self) -> str:
        return f"DType.{self.name}"

    def __str__(self) -> str:
        return self.name


_EXTENSION_TYPES: frozenset[DType] = frozenset(
    dtype for dtype in DType if dtype.name.startswith(("float4", "float8", "bfloat"))
)
_TO_NUMPY: dict[DType, np.dtype[Any]] = {
    dtype: np.dtype(getattr(ml_dtypes if dtype in _EXTENSION_TYPES else np, dtype.name))
    if dtype is not DType.bool
    else np.dtype(np.bool_)
    for dtype in DType
}
_FROM_NUMPY: dict[np.dtype[Any], DType] = {np_dtype: dtype for dtype, np_dtype in _TO_NUMPY.items()}
_SIZES: dict[DType, int] = {dtype: np_dtype.itemsize for dtype, np_dtype in _TO_NUMPY.items()}


class finfo:
    """Numeric properties of a floating DType, modelled on `torch.finfo`.

    Attributes:
        dtype: The type described.
        bits: Bits of one value (4 for `float4_e2m1fn`, although it takes a byte in memory).
        eps: Difference between 1.0 and the next larger representable value.
        max: Largest finite value.
        min: Smallest finite value (`-max`, except for the unsigned `float8_e8m0fnu`).
        tiny: Smallest positive normal value.
        smallest_normal: The same as `tiny`.
    """

    def __init__(self, dtype: DType) -> None:
        """Looks up the limits of a type.

        Args:
            dtype: A floating type.

        Raises:
            TypeError: `dtype` is not a floating DType.
        """
        if not isinstance(dtype, DType) or not dtype.is_float():
            raise _DTypeTypeError(f"finfo expected a floating DType, but got {dtype!r}")
        limits = ml_dtypes.finfo(_TO_NUMPY[dtype])
        self.dtype = dtype
        self.bits = int(limits.bits)
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = float(limits.smallest_normal)
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(dtype={self.dtype.name}, bits={self.bits}, eps={self.eps:g}, max={self.max:g}, "
            f"min={self.min:g}, tiny={self.tiny:g})"
        )
