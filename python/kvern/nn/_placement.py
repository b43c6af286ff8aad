# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layers refuse: several devices, and quantized weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from kvern.errors import DeviceError, UnsupportedError
from kvern.graph import DeviceRef

__all__ = ["Unsharded", "only_device", "refuse_quantization", "refuse_sharding"]


class Unsharded:
    """A layer that lives on one device; it has the members of a shardable one, which say so."""

    @property
    def sharding_strategy(self) -> None:
        """The strategy: none.

        Raises:
            NotImplementedError: When it is set.
        """
        return None

    @sharding_strategy.setter
    def sharding_strategy(self, strategy: Any) -> None:
        if strategy is not None:
            _refuse(type(self).__name__, "sharding over several devices")

    def shard(self, devices: Iterable[DeviceRef]) -> NoReturn:
        """Fails: layers are not split over devices.

        Raises:
            NotImplementedError: Always.
        """
        _refuse(type(self).__name__, "sharding over several devices")


def only_device(layer: str, devices: Sequence[DeviceRef]) -> DeviceRef:
    """Returns the device of a layer that takes a list of them.

    Raises:
        ValueError: There is not exactly one.
    """
    devices = [devices] if isinstance(devices, DeviceRef) else list(devices)
    if len(devices) > 1:
        _refuse(layer, f"several devices ({', '.join(map(str, devices))})")
    if not devices:
        raise DeviceError(f"{layer}: expected one device, but got none")
    return devices[0]


def refuse_quantization(layer: str, **options: Any) -> None:
    """Raises NotImplementedError when an option, by its name, is not None."""
    for name, value in options.items():
        if value is not None:
            _refuse(layer, f"quantized weights ({name}={value!r})")


def refuse_sharding(layer: str, is_sharding: bool) -> None:
    """Raises NotImplementedError when the layer is to be a shard."""
    if is_sharding:
        _refuse(layer, "sharding over several devices (is_sharding=True)")


def _refuse(layer: str, what: str) -> NoReturn:
    raise UnsupportedError(f"{layer} does not support {what}")
