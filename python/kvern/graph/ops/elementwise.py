# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on one tensor, one element at a time.

All results have the shape of the operand. float16 and bfloat16 are computed in float32 and rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvern.dtype import DType
from kvern.errors import DTypeError, GraphError
from kvern.graph._convert import to_tensor
from kvern.graph._mlir import bindings
from kvern.graph._source import located
from kvern.graph._staging import stage_tensor

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike


def _unary(op: str, x: TensorValueLike) -> TensorValue:
    return stage_tensor(op, to_tensor(op, x))


def abs(x: TensorValueLike) -> TensorValue:
    """Returns `|x|`; the smallest signed integer is its own absolute value.

    Args:
        x: A tensor of numbers.

    Raises:
        TypeError: x is no tensor of numbers.
    """
    return _unary("abs", x)


def acos(x: TensorValueLike) -> TensorValue:
    """Returns the arc cosine in radians, from 0 to pi; x is clamped to -1..1.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("acos", x)


def atanh(x: TensorValueLike) -> TensorValue:
    """Returns the inverse hyperbolic tangent, for x from -1 to 1.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("atanh", x)


def ceil(x: TensorValueLike) -> TensorValue:
    """Returns the smallest integers that are not below x.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("ceil", x)


def cos(x: TensorValueLike) -> TensorValue:
    """Returns the cosine of x in radians.

    Angles beyond 2^50, narrower than float64, count as 0: their neighbours are many turns apart.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("cos", x)


def erf(x: TensorValueLike) -> TensorValue:
    """Returns the error function `2 / sqrt(pi) * integral of exp(-t^2) from 0 to x`.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("erf", x)


def exp(x: TensorValueLike) -> TensorValue:
    """Returns `e^x`.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("exp", x)


def floor(x: TensorValueLike) -> TensorValue:
    """Returns the largest integers that are not above x.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("floor", x)


def is_inf(x: TensorValueLike) -> TensorValue:
    """Returns where x is plus or minus infinity, as bool.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("is_inf", x)


def is_nan(x: TensorValueLike) -> TensorValue:
    """Returns where x is NaN, as bool.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("is_nan", x)


def log(x: TensorValueLike) -> TensorValue:
    """Returns the natural logarithm: NaN below 0, minus infinity at 0.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("log", x)


def log1p(x: TensorValueLike) -> TensorValue:
    """Returns `ln(1 + x)`, accurate near 0.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("log1p", x)


def logical_not(x: TensorValueLike) -> TensorValue:
    """Returns where x is false.

    Args:
        x: A bool tensor.

    Raises:
        TypeError: x is no bool tensor.
    """
    return _unary("logical_not", x)


def negate(x: TensorValueLike) -> TensorValue:
    """Returns `-x`, modulo 2^bits for integers.

    Args:
        x: A tensor of numbers.

    Raises:
        TypeError: x is no tensor of numbers.
    """
    return _unary("negate", x)


def relu(x: TensorValueLike) -> TensorValue:
    """Returns `max(x, 0)`.

    Args:
        x: A tensor of numbers.

    Raises:
        TypeError: x is no tensor of numbers.
    """
    return _unary("relu", x)


def round(x: TensorValueLike) -> TensorValue:
    """Returns the nearest integers; halfway cases go to the even one.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("round", x)


def rsqrt(x: TensorValueLike) -> TensorValue:
    """Returns `1 / sqrt(x)`.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("rsqrt", x)


def sigmoid(x: TensorValueLike) -> TensorValue:
    """Returns the logistic function `1 / (1 + e^-x)`.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("sigmoid", x)


def silu(x: TensorValueLike) -> TensorValue:
    """Returns the sigmoid linear unit `x * sigmoid(x)` (Elfwing et al., 2017).

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("silu", x)


def sin(x: TensorValueLike) -> TensorValue:
    """Returns the sine of x in radians.

    Angles beyond 2^50, narrower than float64, count as 0: their neighbours are many turns apart.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("sin", x)


def sqrt(x: TensorValueLike) -> TensorValue:
    """Returns the square root; NaN below 0.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("sqrt", x)


def tanh(x: TensorValueLike) -> TensorValue:
    """Returns the hyperbolic tangent.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("tanh", x)


def trunc(x: TensorValueLike) -> TensorValue:
    """Returns the integer parts of x.

    Args:
        x: A float tensor.

    Raises:
        TypeError: x is no float tensor.
    """
    return _unary("trunc", x)


def gelu(x: TensorValueLike, approximate: str = "none") -> TensorValue:
    """Returns the Gaussian error linear unit (Hendrycks and Gimpel, 2016).

    Args:
        x: A float tensor.
        approximate: `"none"` for `x / 2 * (1 + erf(x / sqrt(2)))`, `"tanh"` for
            `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`, `"quick"` for `x * sigmoid(1.702 x)`.

    Raises:
        TypeError: x is no float tensor.
        ValueError: There is no such approximation.
    """
    if approximate not in ("none", "tanh", "quick"):
        raise located(
            GraphError,
            "gelu",
            f"expected approximate to be 'none', 'tanh' or 'quick', but got {approximate!r}",
        )
    return stage_tensor("gelu", to_tensor("gelu", x), approximate=approximate)


def cast(x: TensorValueLike, dtype: DType) -> TensorValue:
    """Returns x with another element type.

    To a narrower float: round to nearest even. Float to integer: towards zero; what does not fit saturates
    and NaN gives 0. Integer to integer: modulo 2^bits. To bool: `x != 0`.

    Args:
        x: A tensor.
        dtype: The element type of the result; x itself is returned when it is that of x.

    Raises:
        TypeError: `dtype` is no DType.
    """
    if not isinstance(dtype, DType):
        raise located(DTypeError, "cast", f"expected a DType, but got {dtype!r}")
    value = to_tensor("cast", x)
    if value.dtype is dtype:
        return value
    mlir = bindings()
    return stage_tensor(
        "cast", value, dtype=mlir.ir.TypeAttr.get(mlir.element_types[dtype], mlir.context)
    )
