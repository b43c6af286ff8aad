# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types, memory and run-time inputs of one cache, from its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import InputError, UnsupportedError
from kvern.graph import BufferType, DeviceRef, TensorType
from kvern.nn.kv_cache._buffers import KVCacheBuffer
from kvern.nn.kv_cache._inputs import KVCacheInputs, KVCacheInputsPerDevice

if TYPE_CHECKING:
    from kvern.nn.kv_cache._params import KVCacheParams

__all__ = [
    "KVCacheAssignment",
    "allocate_buffers",
    "buffer_shapes",
    "runtime_inputs",
    "symbolic_inputs",
]


@dataclass(frozen=True)
class KVCacheAssignment:
    """Which pages the B sequences of a replica's step have.

    Attributes:
        cache_lengths: uint32 `[B]`: tokens in the cache before the step.
        lookup_table: uint32 `[B, max_pages]`: where page `j` of a sequence is.
        max_prompt_length: uint32 `[1]`: most new tokens of a sequence.
        max_cache_length: uint32 `[1]`: most tokens of a sequence, the new ones included.
    """

    cache_lengths: Buffer
    lookup_table: Buffer
    max_prompt_length: Buffer
    max_cache_length: Buffer


def symbolic_inputs(params: KVCacheParams, prefix: str) -> KVCacheInputs[TensorType, BufferType]:
    """Returns the types of a graph's inputs; see `KVCacheParams.get_symbolic_inputs`."""
    inputs = []
    for index, device in enumerate(params.devices):
        replica = index // params.tensor_parallel_degree
        own = f"replica_{replica}_" if params.data_parallel_degree > 1 else ""
        pages, batch = f"{prefix}{own}total_num_pages", f"{own}batch_size"
        columns = f"{prefix}{own}max_num_pages"
        values, *scales = [
            BufferType(dtype, [pages, *shape], device) for dtype, shape in buffer_shapes(params)
        ]
        inputs.append(
            KVCacheInputsPerDevice(
                kv_blocks=values,
                cache_lengths=TensorType(DType.uint32, [batch], device),
                lookup_table=TensorType(DType.uint32, [batch, columns], device),
                max_prompt_length=TensorType(DType.uint32, [1], DeviceRef.CPU()),
                max_cache_length=TensorType(DType.uint32, [1], DeviceRef.CPU()),
                kv_scales=scales[0] if scales else None,
            )
        )
    return KVCacheInputs(inputs)


def buffer_shapes(params: KVCacheParams) -> Iterator[tuple[DType, list[int]]]:
    """Yields element type and shape of a page on one device: of the values, then of the scales if there are."""
    yield params.dtype, params.shape_per_block
    config, scales = params.kvcache_quant_config, params.scales_shape_per_block
    if config is not None and scales is not None:
        yield config.scale_dtype, scales


def allocate_buffers(params: KVCacheParams, total_num_pages: int) -> list[KVCacheBuffer]:
    """Returns the memory of each replica; see `KVCacheParams.allocate_buffers`."""
    if total_num_pages < 1:
        raise InputError(f"expected total_num_pages >= 1, but got {total_num_pages}")
    if params.tensor_parallel_degree > 1:
        raise UnsupportedError(
            f"expected one device for each of {params.data_parallel_degree} replicas, but got {params.n_devices} "
            "devices: there are no kernels that join the heads of several devices"
        )
    made = []
    for device in params.devices:
        where = device.to_device()
        values, *scales = [
            Buffer.zeros([total_num_pages, *shape], dtype, where)
            for dtype, shape in buffer_shapes(params)
        ]
        made.append(KVCacheBuffer(params.replicates_kv_across_tp, [values], scales or None))
    return made


def runtime_inputs(
    params: KVCacheParams,
    assignments: Sequence[KVCacheAssignment],
    buffers: Sequence[KVCacheBuffer],
) -> KVCacheInputs[Buffer, Buffer]:
    """Returns the inputs of a run; see `KVCacheParams.build_runtime_inputs`."""
    replicas = params.data_parallel_degree
    if not len(assignments) == len(buffers) == replicas:
        raise InputError(
            f"expected assignments and buffers of {replicas} replicas, but got {len(assignments)} and {len(buffers)}"
        )
    inputs = []
    for index, device in enumerate(params.devices):
        replica, shard = divmod(index, params.tensor_parallel_degree)
        mine, pages, where = assignments[replica], buffers[replica], device.to_device()
        inputs.append(
            KVCacheInputsPerDevice(
                kv_blocks=pages.values[shard],
                cache_lengths=mine.cache_lengths.to(where),
                lookup_table=mine.lookup_table.to(where),
                max_prompt_length=mine.max_prompt_length,
                max_cache_length=mine.max_cache_length,
                kv_scales=None if pages.scales is None else pages.scales[shard],
            )
        )
    return KVCacheInputs(inputs)
