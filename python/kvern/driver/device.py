# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, their streams and events.

This build drives the host CPU. On it every operation is finished when its call returns, so a stream is always
empty and an event has always happened.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, overload

from kvern.errors import DeviceError

__all__ = ["CPU", "Accelerator", "Device", "DeviceEvent", "DeviceSpec", "DeviceStream"]


@dataclass(frozen=True)
class DeviceSpec:
    """Names a device that may or may not exist.

    Attributes:
        id: Number of the device among those of its type; -1 for the first.
        device_type: "cpu" or "gpu".
    """

    id: int
    device_type: Literal["cpu", "gpu"] = "cpu"

    def __post_init__(self) -> None:
        if self.device_type not in ("cpu", "gpu"):
            raise DeviceError(f"expected device type 'cpu' or 'gpu', but got {self.device_type!r}")
        if self.id < -1:
            raise DeviceError(f"expected a device id >= -1, but got {self.id}")

    @staticmethod
    def cpu(id: int = -1) -> DeviceSpec:
        """Names the host CPU."""
        return DeviceSpec(id, "cpu")

    @staticmethod
    def accelerator(id: int = 0) -> DeviceSpec:
        """Names an accelerator."""
        return DeviceSpec(id, "gpu")


class Device(ABC):
    """A processor with its memory. Abstract: make a `CPU` or an `Accelerator`."""

    @staticmethod
    def cpu(id: int = -1) -> CPU:
        """Returns the host CPU."""
        return CPU(id)

    @staticmethod
    def accelerator(id: int = -1) -> Accelerator:
        """Returns an accelerator.

        Raises:
            ValueError: There is none.
        """
        return Accelerator(id)

    @property
    @abstractmethod
    def id(self) -> int:
        """Number of the device among those of its type."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Type of the device: "cpu" or "gpu"."""

    @property
    @abstractmethod
    def api(self) -> str:
        """Name of the programming interface: "cpu", "cuda", ..."""

    @property
    @abstractmethod
    def architecture_name(self) -> str:
        """Architecture of an accelerator, such as "sm_80".

        Raises:
            ValueError: The device is a CPU.
        """

    @property
    @abstractmethod
    def is_host(self) -> bool:
        """Whether this is the host CPU."""

    @property
    def is_compatible(self) -> bool:
        """Whether this build can run code on the device."""
        return True

    @property
    @abstractmethod
    def stats(self) -> dict[str, int]:
        """Memory of the device in bytes: "total_memory" and "free_memory"."""

    @property
    def default_stream(self) -> DeviceStream:
        """The stream that is used when none is named."""
        return DeviceStream(self)

    def can_access(self, other: Device) -> bool:
        """Whether this device can read the memory of `other` directly."""
        return self == other

    def synchronize(self) -> None:
        """Waits until all work given to the device is done."""
        return

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.label, self.id) == (other.label, other.id)

    def __hash__(self) -> int:
        return hash((self.label, self.id))

    def __repr__(self) -> str:
        return f"Device(type={self.label},id={self.id})"


class CPU(Device):
    """The host CPU. All its instances are equal, and their id is 0."""

    def __init__(self, id: int = -1) -> None:
        """Makes the host device.

        Args:
            id: -1 or 0; there is one host.

        Raises:
            ValueError: Another id.
        """
        if id not in (-1, 0):
            raise DeviceError(f"expected CPU id -1 or 0, but got {id}")

    @property
    def id(self) -> int:
        """Always 0."""
        return 0

    @property
    def label(self) -> str:
        """Always "cpu"."""
        return "cpu"

    @property
    def api(self) -> str:
        """Always "cpu"."""
        return "cpu"

    @property
    def architecture_name(self) -> str:
        """Raises ValueError: only accelerators have one."""
        raise DeviceError("the CPU has no accelerator architecture name")

    @property
    def is_host(self) -> bool:
        """Always True."""
        return True

    @property
    def stats(self) -> dict[str, int]:
        """Memory of the machine in bytes: "total_memory" and "free_memory"."""
        page = os.sysconf("SC_PAGE_SIZE")
        return {
            "total_memory": page * os.sysconf("SC_PHYS_PAGES"),
            "free_memory": page * os.sysconf("SC_AVPHYS_PAGES"),
        }


class Accelerator(Device):
    """A GPU. This build drives none, so none can be made."""

    def __init__(self, id: int = -1, device_memory_limit: int = -1) -> None:
        """Looks for an accelerator.

        Args:
            id: Number of the accelerator; -1 for the first.
            device_memory_limit: Bytes that may be used of its memory; -1 for 99 % of what is free.

        Raises:
            ValueError: There is no such accelerator. `accelerator_count()` says how many there are.
        """
        raise DeviceError(
            f"expected accelerator {max(id, 0)} to be present, but accelerator_count() is 0; "
            "use CPU() instead"
        )

    @property
    def id(self) -> int:
        """Number of the accelerator."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Always "gpu"."""
        return "gpu"

    @property
    def api(self) -> str:
        """Programming interface, such as "cuda"."""
        raise NotImplementedError

    @property
    def architecture_name(self) -> str:
        """Architecture, such as "sm_80"."""
        raise NotImplementedError

    @property
    def is_host(self) -> bool:
        """Always False."""
        return False

    @property
    def stats(self) -> dict[str, int]:
        """Memory of the accelerator in bytes."""
        raise NotImplementedError


class DeviceStream:
    """An in-order queue of work on a device."""

    def __init__(self, device: Device) -> None:
        """Makes a queue.

        Args:
            device: The device that does the work.
        """
        self._device = device

    @property
    def device(self) -> Device:
        """The device that does the work."""
        return self._device

    @property
    def native_stream_handle(self) -> int:
        """Handle of the driver's stream; 0 on the CPU."""
        return 0

    def synchronize(self) -> None:
        """Waits until all work in the queue is done."""
        self._device.synchronize()

    def wait_for(self, other: DeviceStream | Device) -> None:
        """Makes later work of this queue wait for what `other` holds now.

        Args:
            other: A stream, or a device for its default stream.
        """
        other.synchronize()

    @overload
    def record_event(self) -> DeviceEvent: ...
    @overload
    def record_event(self, event: DeviceEvent) -> None: ...
    def record_event(self, event: DeviceEvent | None = None) -> DeviceEvent | None:
        """Records an event that happens once the work queued so far is done.

        Args:
            event: The event to record; None makes one.

        Returns:
            The new event, or None when one was given.
        """
        if event is not None:
            event._record()
            return None
        event = DeviceEvent(self._device)
        event._record()
        return event

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceStream):
            return NotImplemented
        return self._device == other._device

    def __hash__(self) -> int:
        return hash(("stream", self._device))

    def __repr__(self) -> str:
        return f"DeviceStream({self._device})"


class DeviceEvent:
    """A point in a stream that can be waited for."""

    def __init__(self, device: Device, enable_timing: bool = False) -> None:
        """Makes an event.

        Args:
            device: The device whose streams may record it.
            enable_timing: Whether `elapsed_time` may be asked.

        Raises:
            ValueError: The device cannot make events.
        """
        if not isinstance(device, Device):
            raise DeviceError(f"expected a Device, but got {type(device).__name__}")
        self._device = device
        self._enable_timing = enable_timing
        self._time: float | None = None

    def _record(self) -> None:
        self._time = time.perf_counter()

    def is_ready(self) -> bool:
        """Whether the event has happened; True when it was never recorded."""
        return True

    def synchronize(self) -> None:
        """Waits until the event has happened."""
        self._device.synchronize()

    def elapsed_time(self, end_event: DeviceEvent) -> float:
        """Returns the time from this event to a later one.

        Args:
            end_event: The later event.

        Returns:
            Milliseconds.

        Raises:
            ValueError: One of the events was made without timing, or was not recorded.
        """
        if not (self._enable_timing and end_event._enable_timing):
            raise DeviceError("elapsed_time expected two events made with enable_timing=True")
        if self._time is None or end_event._time is None:
            raise DeviceError("elapsed_time expected two recorded events")
        return (end_event._time - self._time) * 1e3
