# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where values of a graph live."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from kvern.errors import DeviceError, DTypeError
from kvern.graph._mlir import bindings
from kvern.graph._source import located

__all__ = ["DeviceKind", "DevicePlacementPolicy", "DeviceRef"]


class DeviceKind(str, enum.Enum):
    """A kind of device."""

    CPU = "cpu"
    GPU = "gpu"

    @staticmethod
    def from_string(txt: str) -> DeviceKind:
        """Returns the kind of a name.

        Raises:
            ValueError: There is no such kind.
        """
        try:
            return DeviceKind(txt)
        except ValueError:
            raise located(
                DeviceError, "DeviceKind", f"expected 'cpu' or 'gpu', but got {txt!r}"
            ) from None

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class DeviceRef:
    """A device by kind and number; it need not exist on this machine.

    Attributes:
        device_type: The kind; a str is converted.
        id: Which of them, from 0.
    """

    device_type: DeviceKind
    id: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.device_type, DeviceKind):
            object.__setattr__(self, "device_type", DeviceKind.from_string(self.device_type))
        if self.id < 0:
            raise located(
                DeviceError, "DeviceRef", f"expected an id of 0 or more, but got {self.id}"
            )

    @staticmethod
    def CPU(id: int = 0) -> DeviceRef:
        """Returns the reference of a CPU."""
        return DeviceRef(DeviceKind.CPU, id)

    @staticmethod
    def GPU(id: int = 0) -> DeviceRef:
        """Returns the reference of a GPU."""
        return DeviceRef(DeviceKind.GPU, id)

    @staticmethod
    def from_device(device: Any) -> DeviceRef:
        """Returns the reference of a `kvern.driver.Device`; a DeviceRef is given back as it is."""
        if isinstance(device, DeviceRef):
            return device
        if not hasattr(device, "label"):
            raise located(
                DTypeError, "DeviceRef", f"expected a DeviceRef or a Device, but got {device!r}"
            )
        return DeviceRef(DeviceKind.from_string(device.label), device.id)

    def to_device(self) -> Any:
        """Returns the `kvern.driver.Device`.

        Raises:
            ValueError: This machine has no such device.
        """
        from kvern import driver

        return driver.CPU(self.id) if self.is_cpu() else driver.Accelerator(self.id)

    def is_cpu(self) -> bool:
        """Whether this is a CPU."""
        return self.device_type is DeviceKind.CPU

    def is_gpu(self) -> bool:
        """Whether this is a GPU."""
        return self.device_type is DeviceKind.GPU

    @staticmethod
    def from_mlir(attr: Any) -> DeviceRef:
        """Returns the reference of a `#kvern.device` attribute."""
        return DeviceRef(DeviceKind(attr.kind), attr.id)

    def to_mlir(self) -> Any:
        """Returns the `#kvern.device` attribute."""
        mlir = bindings()
        return mlir.ext.DeviceAttr.get(self.device_type.value, self.id, mlir.context)

    def __str__(self) -> str:
        return f"{self.device_type.value}:{self.id}"

    def __repr__(self) -> str:
        return f"DeviceRef({str(self)!r})"


class DevicePlacementPolicy(str, enum.Enum):
    """What happens when an op that has only a CPU kernel gets a tensor of another device.

    Attributes:
        Ignore: The tensor is copied to the CPU without a word.
        Warn: A `UserWarning` names the op.
        Error: A `ValueError` when the graph is built.
    """

    Ignore = "ignore"
    Warn = "warn"
    Error = "error"
