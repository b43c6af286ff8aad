# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, and memory on them."""

from __future__ import annotations

from kvern.driver.buffer import Buffer, DLPackArray
from kvern.driver.device import (
    CPU,
    Accelerator,
    Device,
    DeviceEvent,
    DeviceSpec,
    DeviceStream,
)
from kvern.driver.discovery import (
    accelerator_api,
    accelerator_architecture_name,
    accelerator_count,
    calculate_virtual_device_count,
    devices_exist,
    enable_all_peer_access,
    load_devices,
    scan_available_devices,
)
from kvern.driver.pinned import DevicePinnedBuffer

__all__ = [
    "CPU",
    "Accelerator",
    "Buffer",
    "DLPackArray",
    "Device",
    "DeviceEvent",
    "DevicePinnedBuffer",
    "DeviceSpec",
    "DeviceStream",
    "accelerator_api",
    "accelerator_architecture_name",
    "accelerator_count",
    "calculate_virtual_device_count",
    "devices_exist",
    "enable_all_peer_access",
    "load_devices",
    "scan_available_devices",
]
