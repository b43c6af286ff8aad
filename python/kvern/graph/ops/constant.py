# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values known before the run."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError, ShapeError, UnsupportedError
from kvern.graph._convert import is_number, to_tensor
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor
from kvern.graph.device import DeviceRef
from kvern.graph.dim import Dim, DimLike, StaticDim

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue

__all__ = ["constant", "range"]


def constant(value: Any, dtype: DType | None = None, device: Any = None) -> TensorValue:
    """Returns a literal tensor.

    Args:
        value: A number, a nested list of numbers, or an array (of NumPy, or one that speaks DLPack).
        dtype: The element type; by default that of the array, and for Python numbers bool, int64 or float32.
        device: Where the tensor lives; the CPU by default.

    Raises:
        TypeError: `value` is no array of numbers.
        ValueError: The element type cannot hold a value: integers and bools must be exact, finite floats must
            stay finite.
    """
    if dtype is not None and not isinstance(dtype, DType):
        raise located(DTypeError, "constant", f"expected a DType, but got {dtype!r}")
    array = _to_array(value)
    if dtype is None:
        dtype = _default_dtype(value, array)
    array = _converted(array, dtype)
    mlir = bindings()
    element_type = mlir.element_types[dtype]
    if dtype is DType.bool:
        elements = mlir.ir.DenseElementsAttr.get(array, context=mlir.context)
    else:
        # The bytes as they are: the buffer protocol does not know all element types.
        data = array.reshape(-1).view(np.uint8)
        tensor = mlir.ir.RankedTensorType.get(array.shape, element_type, loc=_unknown(mlir))
        elements = mlir.ir.DenseElementsAttr.get(data, type=tensor, context=mlir.context)
    where = DeviceRef.CPU() if device is None else DeviceRef.from_device(device)
    return stage_tensor("constant", value=elements, device=where.to_mlir())


def range(
    start: Any,
    stop: Any,
    step: Any = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType,
    device: Any,
) -> TensorValue:
    """Returns `start`, `start + step`, ... before `stop` (after it, for a negative step), `[n]`.

    Args:
        start: A number or a Dim.
        stop: A number or a Dim.
        step: A number other than 0.
        out_dim: Name of the size, as by `rebind`; by default the size is computed.
        dtype: The element type.
        device: Where the tensor lives.

    Raises:
        TypeError: A bound is fractional and `dtype` is not float, or is no number.
        ValueError: The step is 0, or a bound is a tensor.
    """
    if not isinstance(dtype, DType):
        raise located(DTypeError, "range", f"expected a DType, but got {dtype!r}")
    start, stop, step = (_bound(v, dtype) for v in (start, stop, step))
    if isinstance(step, Dim) or step == 0:
        raise located(
            ShapeError, "range", f"expected a number other than 0 as step, but got {step!r}"
        )
    where = DeviceRef.from_device(device)
    size = _count(start, stop, step, dtype)
    first = 0 if isinstance(start, Dim) else start
    result = stage_tensor(
        "range",
        start=_number(first, dtype),
        step=_number(step, dtype),
        size=size.to_mlir(),
        device=where.to_mlir(),
    )
    if isinstance(start, Dim):
        from kvern.graph.ops.elementwise_binary import add

        result = add(result, to_tensor("range", start, dtype, where))
    if out_dim is not None:
        from kvern.graph.ops.shape import rebind

        result = rebind(result, [out_dim])
    return result


def _bound(value: Any, dtype: DType) -> Any:
    """A bound or step as a Python number or a Dim without a static value."""
    if isinstance(value, (str, Dim)):
        value = Dim(value)
        return value.dim if isinstance(value, StaticDim) else value
    if not is_number(value):
        raise located(UnsupportedError, "range", f"expected a number or a Dim, but got {value!r}")
    if isinstance(value, (float, np.floating)):
        if not dtype.is_float() or not np.isfinite(value):
            raise located(DTypeError, "range", f"expected numbers of {dtype}, but got {value!r}")
        return float(value)
    return int(value)


def _count(start: Any, stop: Any, step: Any, dtype: DType) -> Dim:
    if not (isinstance(start, Dim) or isinstance(stop, Dim)):
        exact = all(isinstance(value, int) for value in (start, stop, step))
        # Integers are exact; floats as in NumPy.
        quotient = Fraction(stop - start, step) if exact else (stop - start) / step
        count = max(0, math.ceil(quotient)) if math.isfinite(quotient) else -1
        if exact and count > 0 and dtype.is_integral():
            limits = np.iinfo(dtype.to_numpy())
            last = start + (count - 1) * step
            if not (limits.min <= min(start, last) and max(start, last) <= limits.max):
                raise located(
                    GraphError, "range", f"expected numbers of {dtype}, but got {start} to {last}"
                )
        if not 0 <= count < 2**63:
            raise located(ShapeError, "range", f"expected a size of 64 bits, but got {quotient}")
        return StaticDim(count)
    for value in (start, stop, step):
        if isinstance(value, float) and not value.is_integer():
            raise located(
                UnsupportedError, "range", f"expected whole numbers beside a Dim, but got {value!r}"
            )
    first, last = (v if isinstance(v, Dim) else Dim(int(v)) for v in (start, stop))
    span = last - first if step > 0 else first - last
    return span.ceildiv(abs(int(step)))


def _number(value: Any, dtype: DType) -> Any:
    mlir = bindings()
    element_type = mlir.element_types[dtype]
    if dtype.is_float():
        return mlir.ir.FloatAttr.get(element_type, float(value), loc=_unknown(mlir))
    return mlir.ir.IntegerAttr.get(element_type, int(value))


def _unknown(mlir: Any) -> Any:
    return mlir.ir.Location.unknown(mlir.context)


def _to_array(value: Any) -> np.ndarray[Any, Any]:
    try:
        if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            from kvern.driver import Buffer

            value = Buffer.from_dlpack(value).to_numpy()
        array = np.asarray(value)
    except (OverflowError, ValueError) as error:
        raise located(
            GraphError, "constant", f"expected an array of numbers, but got {value!r}", [str(error)]
        ) from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind not in "biufV" or array.dtype.fields:
        raise located(DTypeError, "constant", f"expected numbers, but got {value!r}")
    return array


def _default_dtype(value: Any, array: np.ndarray[Any, Any]) -> DType:
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        return DType.from_numpy(array.dtype)
    return {"b": DType.bool, "f": DType.float32}.get(array.dtype.kind, DType.int64)


def _converted(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    target = dtype.to_ml_dtypes()
    if array.dtype == target:
        return np.ascontiguousarray(array).reshape(array.shape)
    with np.errstate(all="ignore"):
        result = array.astype(target)
        exact = result.astype(array.dtype) == array
        if dtype.is_float():
            # Rounding is expected, overflow and a lost NaN are not.
            wide, given = result.astype(np.float64), array.astype(np.float64)
            exact = np.isnan(wide) & np.isnan(given) | (wide == given)
            exact |= np.isfinite(wide) & np.isfinite(given)
    if not np.all(exact):
        culprit = array[~exact].flat[0] if array.ndim else array[()]
        raise located(
            GraphError, "constant", f"expected values that {dtype} can hold, but got {culprit}"
        )
    return np.ascontiguousarray(result).reshape(array.shape)
