# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ops take as tensors, and how element types meet.

Promotion: the common type is the type of one operand: that of the highest category (bool, unsigned, signed,
float) and the largest width. When no operand has both, or the common type cannot hold every value of another
operand's type, that is an error. Numbers, Dims and Shapes take the type of the other operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import DTypeError, ShapeError
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.dim import Dim, StaticDim
from kvern.graph.shape import Shape

if TYPE_CHECKING:
    from kvern.graph.device import DeviceRef
    from kvern.graph.value import BufferValue, TensorValue

__all__ = ["axis_of", "is_number", "promote", "to_buffer", "to_float", "to_int", "to_tensor"]


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or NumPy number."""
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def to_tensor(
    op: str, value: Any, dtype: DType | None = None, device: DeviceRef | None = None
) -> TensorValue:
    """Returns `value` as a tensor; see `TensorValueLike`.

    Args:
        op: The op that asks, for the error message.
        value: A tensor, an array, a number, a Dim or a Shape.
        dtype: Type of what has none: a number, a Dim or a Shape.
        device: Device of what has none; the CPU by default.

    Raises:
        TypeError: `value` is something else.
    """
    from kvern.graph.ops.constant import constant
    from kvern.graph.value import BufferValue, HasTensorValue, TensorValue

    if isinstance(value, TensorValue):
        return value
    if isinstance(value, HasTensorValue):
        return value.__tensorvalue__()
    if isinstance(value, StaticDim):
        value = int(value)
    if isinstance(value, (Dim, Shape)):
        return _sizes(value, dtype, device)
    if is_number(value):
        return constant(value, dtype, device)
    if isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
        return constant(value, None, device)
    hint = ["read a buffer with ops.buffer_load"] if isinstance(value, BufferValue) else []
    raise located(DTypeError, op, f"expected a tensor, but got {value!r}", hint)


def to_buffer(op: str, value: Any) -> BufferValue:
    """Returns `value` as a buffer.

    Raises:
        TypeError: `value` is something else.
    """
    from kvern.graph.value import BufferValue, HasBufferValue

    if isinstance(value, HasBufferValue):
        value = value.__buffervalue__()
    if not isinstance(value, BufferValue):
        raise located(DTypeError, op, f"expected a buffer, but got {value!r}")
    return value


def promote(op: str, *values: Any) -> list[TensorValue]:
    """Returns the values as tensors of one element type.

    Raises:
        TypeError: The types have no common one, or a number does not fit in it.
    """
    strong = {i: to_tensor(op, v) for i, v in enumerate(values) if not _is_weak(v)}
    if not strong:
        strong = {i: to_tensor(op, v) for i, v in enumerate(values)}
    device = next(iter(strong.values())).device
    common = _common(op, list(dict.fromkeys(tensor.dtype for tensor in strong.values())))
    return [
        _cast(strong[i] if i in strong else _weak(op, value, common, device), common)
        for i, value in enumerate(values)
    ]


def axis_of(op: str, axis: int, rank: int) -> int:
    """Returns an axis counted from 0.

    Raises:
        ValueError: There is no such axis.
    """
    axis = to_int(op, "axis", axis)
    if not -rank <= axis < rank:
        allowed = f"from {-rank} to {rank - 1}" if rank else "of a tensor that has axes"
        raise located(
            ShapeError, op, f"expected an axis {allowed}, but got {axis}", [f"the rank is {rank}"]
        )
    return axis % rank


def to_float(op: str, name: str, value: Any) -> float:
    """Returns an argument that must be a number.

    Raises:
        TypeError: It is something else.
    """
    if not is_number(value) or isinstance(value, (bool, np.bool_)):
        raise located(DTypeError, op, f"expected a number as {name}, but got {value!r}")
    return float(value)


def to_int(op: str, name: str, value: Any) -> int:
    """Returns an argument that must be an int.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise located(DTypeError, op, f"expected an int as {name}, but got {value!r}")
    return int(value)


def _is_weak(value: Any) -> bool:
    return is_number(value) or isinstance(value, (Dim, Shape))


def _weak(op: str, value: Any, dtype: DType, device: DeviceRef) -> TensorValue:
    is_fraction = isinstance(value, (float, np.floating)) and not dtype.is_float()
    is_bool = isinstance(value, (bool, np.bool_))
    if is_fraction or (dtype is DType.bool and is_number(value) and not is_bool):
        raise located(
            DTypeError,
            op,
            f"expected a number that {dtype} can hold, but got {value!r}",
            ["convert the tensor first with ops.cast"],
        )
    return to_tensor(op, value, dtype, device)


def _sizes(value: Dim | Shape, dtype: DType | None, device: DeviceRef | None) -> TensorValue:
    from kvern.graph.device import DeviceRef

    shape = Shape([value]) if isinstance(value, Dim) else value
    where = (device or DeviceRef.CPU()).to_mlir()
    sizes = stage_tensor("shape_to_tensor", shape=shape.to_mlir(), device=where)
    if isinstance(value, Dim):
        sizes = stage_tensor("squeeze", sizes, axis=0)
    return _cast(sizes, dtype or DType.int64)


def _cast(value: TensorValue, dtype: DType) -> TensorValue:
    from kvern.graph._mlir import bindings

    if value.dtype is dtype:
        return value
    element_type = bindings().element_types[dtype]
    return stage_tensor(
        "cast", value, dtype=bindings().ir.TypeAttr.get(element_type, bindings().context)
    )


def _category(dtype: DType) -> int:
    kinds = (dtype.is_unsigned_integral(), dtype.is_signed_integral(), dtype.is_float())
    return 1 + kinds.index(True) if True in kinds else 0


def _bits(dtype: DType) -> int:
    return {DType.bool: 1, DType.float4_e2m1fn: 4}.get(dtype, 8 * dtype.size_in_bytes)


# Integers up to 2^n are exact.
_PRECISION = {DType.float64: 53, DType.float32: 24, DType.float16: 11, DType.bfloat16: 8}


def _holds(common: DType, dtype: DType) -> bool:
    """Whether `common` has every value of `dtype`."""
    if dtype in (common, DType.bool):
        return True
    value_bits = _bits(dtype) - dtype.is_signed_integral()
    if common.is_float():
        if dtype.is_float():
            return _bits(common) > _bits(dtype)
        return value_bits <= _PRECISION.get(common, 0)
    return value_bits <= _bits(common) - common.is_signed_integral()


def _common(op: str, dtypes: list[DType]) -> DType:
    category, bits = max(map(_category, dtypes)), max(map(_bits, dtypes))
    for dtype in dtypes:
        if _category(dtype) == category and _bits(dtype) == bits:
            if all(_holds(dtype, other) for other in dtypes):
                return dtype
            break
    names = " and ".join(map(str, dtypes))
    raise located(
        DTypeError,
        op,
        f"expected dtypes of which one holds all values of the others, but got {names}",
        ["convert one of them with ops.cast"],
    )
