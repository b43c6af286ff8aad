# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of weights: names, checks, loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import WeightError
from kvern.graph import Weight

if TYPE_CHECKING:
    from kvern.driver import DLPackArray
    from kvern.nn.layer import Module

__all__ = ["load", "places", "values"]

_Owned = Iterator[tuple[str, "Module", str]]


@dataclass(frozen=True)
class _Place:
    """Where a weight belongs: its full name, the module that owns it, and the attribute there."""

    name: str
    owner: Module
    attribute: str

    @property
    def weight(self) -> Weight:
        return self.owner._layer_weights[self.attribute]

    @property
    def value(self) -> DLPackArray | None:
        return self.owner._weight_values.get(self.attribute)

    def set_value(self, value: Any) -> None:
        self.owner._weight_values[self.attribute] = value


def places(owned: _Owned) -> list[_Place]:
    """Returns the places of weights.

    Raises:
        ValueError: Two have the same name.
    """
    found: dict[str, _Place] = {}
    for name, owner, attribute in owned:
        if name in found:
            both = f"{type(found[name].owner).__qualname__} and {type(owner).__qualname__}"
            raise WeightError(f"expected names that differ, but {both} both have a weight '{name}'")
        found[name] = _Place(name, owner, attribute)
    return list(found.values())


def values(owned: _Owned, auto_initialize: bool) -> dict[str, DLPackArray]:
    """Returns the values by name and names the weights; see `Module.state_dict`."""
    found = places(owned)
    empty = [place for place in found if place.value is None]
    if empty and not auto_initialize:
        names = ", ".join(place.name for place in empty)
        raise WeightError(f"expected a value for each weight, but {len(empty)} have none: {names}")
    for place in empty:
        weight = place.weight
        place.set_value(Buffer.zeros(_sizes(weight), weight.dtype))
    _rename(found)
    return {place.name: place.owner._weight_values[place.attribute] for place in found}


def load(
    owned: _Owned,
    state_dict: Mapping[str, Any],
    *,
    override_quantization_encoding: bool,
    weight_alignment: int | None,
    strict: bool,
) -> None:
    """Sets the values and names the weights; see `Module.load_state_dict`."""
    if weight_alignment is not None and (
        weight_alignment < 1 or weight_alignment & (weight_alignment - 1)
    ):
        raise WeightError(
            f"expected a power of two as weight_alignment, but got {weight_alignment}"
        )
    found = places(owned)
    if strict:
        _check_names([place.name for place in found], list(state_dict))
    given = [(place, state_dict[place.name]) for place in found if place.name in state_dict]
    wrong: list[str] = []
    for place, value in given:
        encoding = _encoding(place.weight, value, override_quantization_encoding)
        align = weight_alignment or place.weight.align or place.weight.dtype.align
        problem = _problem(place.weight, value, encoding, align)
        if problem:
            wrong.append(f"'{place.name}': {problem}")
    if wrong:
        raise WeightError("\n  ".join(["values do not fit their weights", *wrong]))
    for place, value in given:
        weight = place.weight
        weight.quantization_encoding = _encoding(weight, value, override_quantization_encoding)
        place.set_value(value)
    for place in found:
        if weight_alignment is not None:
            place.weight.align = weight_alignment
    _rename(found)


def _check_names(expected: list[str], got: list[str]) -> None:
    missing = [name for name in expected if name not in set(got)]
    unexpected = [name for name in got if name not in set(expected)]
    lines = []
    if missing:
        lines.append(f"missing ({len(missing)}): {', '.join(missing)}")
    if unexpected:
        lines.append(f"unexpected ({len(unexpected)}): {', '.join(map(str, unexpected))}")
    if lines:
        raise WeightError(
            "\n  ".join(["the names of the values are not those of the weights", *lines])
        )


def _rename(found: list[_Place]) -> None:
    for place in found:
        place.weight.name = place.name


def _sizes(weight: Weight) -> list[int]:
    return [int(dim) for dim in weight.shape]


def _encoding(weight: Weight, value: Any, override: bool) -> Any:
    """The encoding that the weight has once the value is loaded."""
    own = weight.quantization_encoding
    return getattr(value, "quantization_encoding", own) if override else own


def _problem(weight: Weight, value: Any, encoding: Any, align: int) -> str | None:
    """What makes the value unfit for the weight."""
    try:
        dtype, shape, address = _describe(value)
    except Exception as error:
        return f"expected an array, but got {type(value).__name__} ({error})"
    own_encoding = getattr(value, "quantization_encoding", encoding)
    if own_encoding != encoding:
        return f"expected the encoding {encoding}, but got {own_encoding}"
    if (dtype, shape) != (weight.dtype, _sizes(weight)):
        expected = f"{weight.dtype.name} {_sizes(weight)}"
        return f"expected {expected}, but got {dtype.name} {shape}"
    if address % align:
        return (
            f"expected data aligned to {align} bytes, but got the address {address:#x}; copy it, or give "
            "a smaller weight_alignment"
        )
    return None


def _describe(value: Any) -> tuple[DType, list[int], int]:
    """Returns dtype, sizes and address of an array."""
    value = getattr(value, "data", value) if hasattr(value, "quantization_encoding") else value
    if isinstance(value, np.ndarray):
        return DType.from_numpy(value.dtype), list(value.shape), value.ctypes.data
    buffer = value if isinstance(value, Buffer) else Buffer.from_dlpack(value)
    return buffer.dtype, [int(size) for size in buffer.shape], buffer._core.address
