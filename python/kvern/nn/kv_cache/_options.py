# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices that the parameters of a cache are made of."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kvern.dtype import DType
from kvern.errors import DTypeError, ShapeError

__all__ = ["HASH_ALGORITHMS", "SPECULATIVE_METHODS", "KVCacheQuantizationConfig", "KVConnectorType"]

HASH_ALGORITHMS = ("ahash64", "sha256", "sha256_64")
SPECULATIVE_METHODS = ("eagle", "mtp", "dflash")


class KVConnectorType(str, enum.Enum):
    """Where pages go that leave the device's memory.

    Attributes:
        null: Nowhere.
        local: To the host's memory. Needs prefix caching and `host_kvcache_swap_space_gb`.
        tiered: To the host's memory, then to a disk. Not supported.
        rust_tiered: An asynchronous form of `tiered`. Not supported.
        dkv: To a distributed service. Not supported.
    """

    null = "null"
    local = "local"
    tiered = "tiered"
    rust_tiered = "rust_tiered"
    dkv = "dkv"


@dataclass(frozen=True)
class KVCacheQuantizationConfig:
    """How the elements of a quantized cache are scaled.

    The elements are `float8_e4m3fn`, or `int8`, which is an addition of kvern. `quantization_granularity` neighbours
    along the head's width share one scale: `max |x|` over 448 (float8) or 127 (int8).

    Attributes:
        scale_dtype: Element type of the scales; only float32 has kernels.
        quantization_granularity: Elements of a scale. It divides the head's width; a larger one means the whole head.
    """

    scale_dtype: DType = DType.float32
    quantization_granularity: int = 128

    def __post_init__(self) -> None:
        if self.scale_dtype is not DType.float32:
            raise DTypeError(
                f"KVCacheQuantizationConfig: expected scale_dtype float32, but got {self.scale_dtype}"
            )
        if self.quantization_granularity < 1:
            raise ShapeError(
                "KVCacheQuantizationConfig: expected quantization_granularity >= 1, but got "
                f"{self.quantization_granularity}"
            )

    def groups(self, head_dim: int) -> int:
        """Returns the number of scales of a head.

        Args:
            head_dim: Width of the head.

        Raises:
            ValueError: The granularity does not divide the width.
        """
        granularity = min(self.quantization_granularity, head_dim)
        if head_dim % granularity:
            raise ShapeError(
                "KVCacheQuantizationConfig: expected quantization_granularity to divide head_dim "
                f"({head_dim}), but got {self.quantization_granularity}"
            )
        return head_dim // granularity
