# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters, inputs, memory and sizes of caches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kvern.driver import CPU, Buffer
from kvern.dtype import DType
from kvern.errors import (
    DeviceError,
    DTypeError,
    InputError,
    InputTypeError,
    InsufficientBlocksError,
    ShapeError,
    UnsupportedError,
)
from kvern.graph import DeviceRef, Graph
from kvern.nn._pytree import flatten
from kvern.nn.kv_cache import (
    BatchCharacteristics,
    KVCacheBuffer,
    KVCacheMemory,
    KVCacheMetrics,
    KVCacheParamInterface,
    KVCacheParams,
    KVCacheQuantizationConfig,
    MHAAttnKey,
    MHAKVCacheParams,
    MLAAttnKey,
    MLAKVCacheParams,
    MSAAttnKey,
    MSAKVCacheParams,
    MultiKVCacheParams,
    ReplicatedKVCacheMemory,
    build_max_lengths_tensors,
    compute_max_seq_len_fitting_in_cache,
    compute_num_device_blocks,
    compute_num_host_blocks,
    estimated_memory_size,
    unflatten_ragged_attention_inputs,
)


def params(dtype: DType = DType.bfloat16, devices: int = 1, **options: Any) -> MHAKVCacheParams:
    options = {"n_kv_heads": 4, "page_size": 16, **options}
    return MHAKVCacheParams(dtype, 32, 3, [DeviceRef.CPU()] * devices, **options)


def latent(**options: Any) -> MLAKVCacheParams:
    options = {"devices": [DeviceRef.CPU()], "num_q_heads": 8, "page_size": 8, **options}
    return MLAKVCacheParams(DType.float32, 48, 2, **options)


QUANTIZED = KVCacheQuantizationConfig(quantization_granularity=16)


def test_bytes_of_a_page():
    assert params().bytes_per_block == 2 * 3 * 16 * 4 * 32 * 2
    assert latent().bytes_per_block == 2 * 8 * 48 * 4
    quantized = params(DType.int8, kvcache_quant_config=QUANTIZED)
    assert quantized.bytes_per_block == 2 * 3 * 16 * 4 * (32 + 2 * 4)
    # A head narrower than a group has one scale.
    whole = params(DType.float8_e4m3fn, kvcache_quant_config=KVCacheQuantizationConfig())
    assert whole.scales_shape_per_block == [2, 3, 16, 4, 1]


def test_heads_of_devices():
    assert params(devices=2).n_kv_heads_per_device == 2
    assert params(devices=2).bytes_per_block == params().bytes_per_block
    assert params(devices=2, data_parallel_degree=2).n_kv_heads_per_device == 4
    shared = params(devices=8, allow_kv_head_replication=True)
    assert shared.n_kv_heads_per_device == 1
    assert latent(devices=[DeviceRef.CPU()] * 2).bytes_per_block == 2 * latent().bytes_per_block
    assert isinstance(params(), KVCacheParamInterface)


def test_inputs_of_a_graph():
    cache = params(DType.int8, kvcache_quant_config=QUANTIZED)
    types = cache.get_symbolic_inputs()
    assert [str(t) for t in types.flatten()] == [
        "BufferType(int8, [total_num_pages, 2, 3, 16, 4, 32], cpu:0)",
        "TensorType(uint32, [batch_size], cpu:0)",
        "TensorType(uint32, [batch_size, max_num_pages], cpu:0)",
        "TensorType(uint32, [1], cpu:0)",
        "TensorType(uint32, [1], cpu:0)",
        "BufferType(float32, [total_num_pages, 2, 3, 16, 4, 2], cpu:0)",
    ]
    main, draft = params().get_symbolic_inputs("main_"), types
    with Graph("caches", input_types=[*main.flatten(), *draft.flatten()]) as graph:
        values = iter(graph.inputs)
        first, second = main.unflatten(values), draft.unflatten(values)
        assert next(values, None) is None
        assert first.inputs[0].kv_scales is None and second.inputs[0].kv_scales is not None
        assert unflatten_ragged_attention_inputs(graph.inputs[:5], n_devices=1) == first.inputs
        assert unflatten_ragged_attention_inputs(graph.inputs[5:], n_devices=1) == second.inputs
        leaves, build = flatten([first, second])
        assert len(leaves) == 11 and build(leaves) == [first, second]
        with pytest.raises(
            InputError, match="expected a value for cache_lengths, but there are no"
        ):
            main.unflatten(iter(graph.inputs[:1]))
        with pytest.raises(InputError, match="expected 5 values for each device"):
            unflatten_ragged_attention_inputs(graph.inputs[:4], n_devices=1)
        with pytest.raises(InputTypeError, match="expected a value of a graph for kv_blocks"):
            main.unflatten(iter([1]))
        graph.output()


def test_replicas_have_dims_of_their_own():
    names = {
        str(dim)
        for t in params(devices=2, data_parallel_degree=2).get_symbolic_inputs("x_").flatten()
        for dim in t.shape
        if not str(dim).isdigit()
    }
    assert names == {
        f"{prefix}replica_{replica}_{name}"
        for replica in range(2)
        for prefix, name in (("x_", "total_num_pages"), ("x_", "max_num_pages"), ("", "batch_size"))
    }


def test_memory():
    cache = params(DType.int8, kvcache_quant_config=QUANTIZED)
    (buffer,) = cache.allocate_buffers(5)
    assert [b.shape for b in buffer.all_buffers] == [(5, 2, 3, 16, 4, 32), (5, 2, 3, 16, 4, 2)]
    units = buffer.to_memory()
    assert sum(unit.bytes_per_page for unit in units) == cache.bytes_per_block
    assert {unit.total_num_pages for unit in units} == {5}
    buffer.values[0].to_numpy()[1] = 7
    units[0].copy_page(1, 3)
    assert buffer.values[0].to_numpy()[:, 0, 0, 0, 0, 0].tolist() == [0, 7, 0, 7, 0]


def test_replicated_memory():
    values = [Buffer.zeros([2, 1, 1, 4, 1, 2], DType.float32) for _ in range(2)]
    (unit,) = KVCacheBuffer(True, values).to_memory()
    assert isinstance(unit, ReplicatedKVCacheMemory)
    page = Buffer.from_numpy(np.full(32, 1, np.uint8))
    unit.write_page(1, page)
    for buffer in values:
        assert buffer.view(DType.uint8).to_numpy()[1].min() == 1
    unit.read_page(0, page)
    assert page.to_numpy().max() == 0
    assert len(KVCacheBuffer(False, values).to_memory()) == 2
    with pytest.raises(InputError, match="expected a uint8 buffer"):
        KVCacheMemory(values[0])


def test_sizes():
    cache = params()
    size = cache.bytes_per_block
    assert compute_num_device_blocks(cache, 10 * size + 1, None, None) == 10
    assert compute_num_device_blocks(cache, 10 * size, 2, 33) == 6
    assert estimated_memory_size(cache, 10 * size, 2, 33) == 6 * size
    assert compute_max_seq_len_fitting_in_cache(cache, 10 * size) == 160
    two = params(devices=2, data_parallel_degree=2)
    assert compute_num_device_blocks(two, 10 * size, None, None) == 5
    assert estimated_memory_size(two, 11 * size, 8, 1000) == 10 * size
    with pytest.warns(
        UserWarning, match=r"33 tokens needs 3 pages .* hold 2 pages each \(32 tokens"
    ):
        assert compute_num_device_blocks(cache, 2 * size, 2, 33) == 2
    with pytest.raises(InsufficientBlocksError, match="needs 3 pages"):
        compute_num_device_blocks(cache, 2 * size, 2, 33, require_max_seq_len_fits=True)
    with pytest.raises(InputError, match="expected max_seq_len >= 1, but got 0"):
        compute_num_device_blocks(cache, size, 2, 0)
    host = params(host_kvcache_swap_space_gb=2**-10)
    assert compute_num_host_blocks(host) == 2**20 // size
    assert compute_num_host_blocks(cache) == 0


def test_lengths_keys_and_counts():
    lengths = build_max_lengths_tensors(3, 17)
    assert [b.to_numpy().tolist() for b in lengths] == [[3], [17]]
    with pytest.raises(InputError, match="expected max_cache_length to be at least 0"):
        build_max_lengths_tensors(3, -1)
    key = MHAAttnKey(2, 1, 4)
    assert key.pack_into_buffer(CPU(), 99).to_numpy().tolist() == [2, 1, 4, 99]
    assert key == MHAAttnKey(2, 1, 4) and key != MLAAttnKey(2, 1, 4) and hash(key)
    with pytest.raises(UnsupportedError, match="block-sparse attention has no kernel"):
        MSAAttnKey().pack_into_buffer(CPU(), 99)
    assert BatchCharacteristics(1, 2, 3).max_cache_valid_length == 3
    total = KVCacheMetrics(input_tokens=1, cache_tokens=2) + KVCacheMetrics(cache_tokens=3)
    assert total == KVCacheMetrics(input_tokens=1, cache_tokens=5)


REFUSED: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (DTypeError, "dtype to be one of float32, bfloat16, float16 without", {"dtype": DType.int8}),
    (DTypeError, "float8_e4m3fn, int8 with kvcache_quant", {"kvcache_quant_config": QUANTIZED}),
    (ShapeError, "expected page_size >= 1, but got 0", {"page_size": 0}),
    (ShapeError, "expected n_kv_heads >= 1, but got 0", {"n_kv_heads": 0}),
    (ShapeError, "expected at least one of the 4 heads for each of the 8 devices", {"devices": 8}),
    (ShapeError, "to divide evenly, but got 4 heads", {"devices": 3}),
    (DeviceError, "that data_parallel_degree (2) divides, but got 1", {"data_parallel_degree": 2}),
    (DeviceError, "divides, but got 0", {"devices": 0}),
    (UnsupportedError, "expected per_layer_buffers=False", {"per_layer_buffers": True}),
    (UnsupportedError, "None, 'null' or 'local', but got 'tiered'", {"kv_connector": "tiered"}),
    (UnsupportedError, "expected kv_connector_config=None", {"kv_connector_config": {"a": 1}}),
    (InputError, "host_kvcache_swap_space_gb > 0 with", {"kv_connector": "local"}),
    (InputError, "expected kv_hash_algo to be one of", {"kv_hash_algo": "md5"}),
    (InputError, "expected speculative_method to be None or", {"speculative_method": "guess"}),
    (InputError, "expected num_draft_tokens >= 0, but got -1", {"num_draft_tokens": -1}),
]


@pytest.mark.parametrize(("error", "message", "options"), REFUSED, ids=[r[1] for r in REFUSED])
def test_refused(error: type[Exception], message: str, options: dict[str, Any]):
    with pytest.raises(error, match=re.escape(message)):
        params(**options)


def test_refused_classes():
    with pytest.raises(UnsupportedError, match="KVCacheParams is abstract"):
        KVCacheParams(DType.float32, 8, 1, [DeviceRef.CPU()])
    with pytest.raises(
        UnsupportedError, match="block-sparse attention has no kernel; available are"
    ):
        MSAKVCacheParams(DType.float32, 8, 1, [DeviceRef.CPU()], n_kv_heads=1)
    with pytest.raises(ShapeError, match="expected num_q_heads >= 1"):
        latent(num_q_heads=0)
    with pytest.raises(ShapeError, match=r"granularity to divide head_dim \(32\), but got 12"):
        odd = KVCacheQuantizationConfig(quantization_granularity=12)
        params(DType.int8, kvcache_quant_config=odd)
    with pytest.raises(DTypeError, match="expected scale_dtype float32, but got bfloat16"):
        KVCacheQuantizationConfig(scale_dtype=DType.bfloat16)
    with pytest.raises(InputError, match="expected page_size of child 1 to be 16, but got 8"):
        MultiKVCacheParams([params(), latent()], 16, 1, [DeviceRef.CPU()], None, None)
    with pytest.raises(InputError, match="expected total_num_pages >= 1, but got 0"):
        params().allocate_buffers(0)
