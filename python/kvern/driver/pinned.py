# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page-locked host memory."""

from __future__ import annotations

from collections.abc import Sequence

from kvern.driver.buffer import Buffer
from kvern.driver.device import Device, DeviceStream
from kvern.dtype import DType
from kvern.errors import DeviceError


class DevicePinnedBuffer(Buffer):
    """Page-locked host memory tied to an accelerator."""

    __slots__ = ()

    def __init__(
        self, dtype: DType, shape: Sequence[int], device: Device | DeviceStream | None = None
    ) -> None:
        """Allocates page-locked memory.

        Raises:
            ValueError: The device is a CPU.
        """
        raise DeviceError("a DevicePinnedBuffer needs an accelerator, but got a CPU device")

    @staticmethod
    def zeros(
        shape: Sequence[int],
        dtype: DType,
        device: Device | None = None,
        stream: DeviceStream | None = None,
        pinned: bool = True,
    ) -> Buffer:
        """Allocates page-locked memory filled with zeros.

        Raises:
            ValueError: The device is a CPU.
        """
        return DevicePinnedBuffer(dtype, shape, device)
