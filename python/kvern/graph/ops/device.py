# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Between devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvern.errors import DeviceError, DTypeError, UnsupportedError
from kvern.graph._convert import to_tensor
from kvern.graph._source import located
from kvern.graph.device import DeviceRef

if TYPE_CHECKING:
    from kvern.graph.value import TensorValue, TensorValueLike, Value

__all__ = ["assert_same_device", "transfer_to"]


def transfer_to(x: TensorValueLike, device: Any) -> TensorValue:
    """Returns the tensor on a device; x itself when it is there already.

    Args:
        x: A tensor.
        device: A DeviceRef or a `kvern.driver.Device`.

    Raises:
        NotImplementedError: The tensor lives on another device.
    """
    value = to_tensor("transfer_to", x)
    target = DeviceRef.from_device(device)
    if value.device != target:
        raise located(
            UnsupportedError,
            "transfer_to",
            f"expected the device of the tensor, {value.device}, but got {target}; "
            "transfers between devices are not supported",
        )
    return value


def assert_same_device(*values: Value[Any], **named: Value[Any]) -> None:
    """Checks that all values live on one device.

    Args:
        *values: Tensors or buffers.
        **named: More of them, under names that the error shows.

    Raises:
        TypeError: One is no value.
        ValueError: They do not live on one device.
    """
    from kvern.graph.value import Value

    places = {f"value {i}": value for i, value in enumerate(values)} | named
    for name, value in places.items():
        if not isinstance(value, Value):
            raise located(
                DTypeError, "assert_same_device", f"expected a value as {name}, but got {value!r}"
            )
    devices = {name: value.type.device for name, value in places.items()}
    if len(set(devices.values())) > 1:
        got = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise located(DeviceError, "assert_same_device", f"expected one device, but got {got}")
