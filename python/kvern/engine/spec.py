# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model says about its inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvern.driver import CPU, Device, DeviceSpec, load_devices
from kvern.dtype import DType
from kvern.errors import ArtifactError

__all__ = ["TensorSpec", "device_of", "spec_of"]

_CONSTANT = 0


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype and shape of an input or an output.

    Attributes:
        name: Name, as a keyword of the model's call.
        dtype: Element type.
        shape: Sizes; None for one that is known only at the call.
        dims: The sizes as text: "64", "batch", "batch * 5 + 1".
    """

    name: str
    dtype: DType
    shape: list[int | None]
    dims: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TensorSpec({self.name}, {self.dtype}, [{', '.join(self.dims)}])"


def spec_of(tensor: dict[str, Any]) -> TensorSpec:
    """Returns the spec of an input or output of a manifest."""
    shape: list[int | None] = []
    for dim in tensor["dims"]:
        op, value = dim["terms"][0]
        shape.append(value if len(dim["terms"]) == 1 and op == _CONSTANT else None)
    dims = tuple(dim["text"] for dim in tensor["dims"])
    return TensorSpec(tensor["name"], DType(tensor["dtype"]), shape, dims)


def device_of(text: str) -> Device:
    """Returns the device that a manifest calls "cpu:0" or "gpu:1".

    Raises:
        ValueError: It does not exist, or the text names none.
    """
    kind, _, number = text.partition(":")
    if kind == "cpu":
        return CPU()
    if kind != "gpu" or not number.isdigit():
        raise ArtifactError(f"expected a device such as 'cpu:0', but got {text!r}")
    return load_devices([DeviceSpec.accelerator(int(number))])[0]
