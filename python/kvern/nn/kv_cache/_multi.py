# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several caches with one table of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvern.errors import InputError
from kvern.graph import BufferType, DeviceRef, TensorType
from kvern.nn.kv_cache._inputs import MultiKVCacheInputs
from kvern.nn.kv_cache._options import KVConnectorType
from kvern.nn.kv_cache._params import KVCacheParamInterface

__all__ = ["MultiKVCacheParams"]


@dataclass(frozen=True)
class MultiKVCacheParams:
    """Parameters of a tree of caches (of a target and its draft, say) whose pages are given out together.

    Attributes:
        children: The caches; trees too.
        page_size: Tokens of a page, of every child.
        data_parallel_degree: Replicas, of every child.
        devices: All devices, of every child.
        kv_connector: Where pages go that leave the device's memory.
        host_kvcache_swap_space_gb: GiB of host memory for `KVConnectorType.local`.
        speculative_method: "eagle", "mtp" or "dflash"; None for none.
        num_draft_tokens: Tokens that a draft proposes.
    """

    children: Sequence[KVCacheParamInterface]
    page_size: int
    data_parallel_degree: int
    devices: Sequence[DeviceRef]
    kv_connector: KVConnectorType | None
    host_kvcache_swap_space_gb: float | None
    speculative_method: str | None = None
    num_draft_tokens: int = 0

    def __post_init__(self) -> None:
        if not self.children:
            raise InputError("MultiKVCacheParams: expected at least one child, but got none")
        object.__setattr__(self, "children", tuple(self.children))
        object.__setattr__(self, "devices", tuple(map(DeviceRef.from_device, self.devices)))
        for field in ("page_size", "data_parallel_degree", "devices"):
            mine = getattr(self, field)
            for index, child in enumerate(self.children):
                if (theirs := getattr(child, field)) != mine:
                    raise InputError(
                        f"MultiKVCacheParams: expected {field} of child {index} to be {mine}, but got {theirs}"
                    )

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @property
    def tensor_parallel_degree(self) -> int:
        """Devices of a replica."""
        return self.n_devices // self.data_parallel_degree

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a page: of all children, on all devices of a replica."""
        return sum(child.bytes_per_block for child in self.children)

    def get_symbolic_inputs(self, prefix: str = "") -> MultiKVCacheInputs[TensorType, BufferType]:
        """Returns the types of the inputs of all children.

        Args:
            prefix: Put before the names of the dims that count pages, then the number of the child.
        """
        made: list[Any] = [
            child.get_symbolic_inputs(f"{prefix}cache_{index}_")
            for index, child in enumerate(self.children)
        ]
        return MultiKVCacheInputs(made)
