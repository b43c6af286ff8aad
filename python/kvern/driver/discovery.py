# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which devices there are."""

from __future__ import annotations

from collections.abc import Iterable

from kvern.driver.device import CPU, Accelerator, Device, DeviceSpec
from kvern.errors import DeviceError

__all__ = [
    "accelerator_api",
    "accelerator_architecture_name",
    "accelerator_count",
    "calculate_virtual_device_count",
    "devices_exist",
    "enable_all_peer_access",
    "load_devices",
    "scan_available_devices",
]


def accelerator_count() -> int:
    """Returns the number of accelerators; 0 means that there is no GPU to use."""
    return 0


def accelerator_api() -> str:
    """Returns the name of the accelerator's programming interface; "cpu" without an accelerator."""
    return CPU().api


def accelerator_architecture_name() -> str:
    """Returns the architecture of the accelerator.

    Raises:
        ValueError: There is no accelerator.
    """
    raise DeviceError("no accelerator is present: accelerator_count() is 0")


def devices_exist(specs: Iterable[DeviceSpec]) -> bool:
    """Whether all devices of `specs` exist."""
    return all(_exists(spec) for spec in specs)


def load_devices(specs: Iterable[DeviceSpec]) -> list[Device]:
    """Returns the devices of `specs`, in their order.

    Raises:
        ValueError: One of them does not exist.
    """
    return [CPU(spec.id) if spec.device_type == "cpu" else Accelerator(spec.id) for spec in specs]


def scan_available_devices() -> list[DeviceSpec]:
    """Returns all accelerators, or the host CPU when there are none."""
    return [DeviceSpec.accelerator(id) for id in range(accelerator_count())] or [DeviceSpec.cpu()]


def enable_all_peer_access() -> None:
    """Lets all GPUs access each other's memory; nothing to do below two of them."""


def calculate_virtual_device_count(*specs: Iterable[DeviceSpec]) -> int:
    """Returns how many virtual devices it takes to compile for all of `specs`.

    Args:
        *specs: Lists of devices, each for one model.

    Returns:
        The highest id plus one, at least 1.
    """
    return max([1, *(spec.id + 1 for group in specs for spec in group)])


def _exists(spec: DeviceSpec) -> bool:
    if spec.device_type == "cpu":
        return spec.id in (-1, 0)
    return max(spec.id, 0) < accelerator_count()
