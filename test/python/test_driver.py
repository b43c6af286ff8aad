# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import gc
import resource
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kvern.driver import (
    CPU,
    Accelerator,
    Buffer,
    Device,
    DeviceEvent,
    DevicePinnedBuffer,
    DeviceSpec,
    DeviceStream,
    DLPackArray,
    accelerator_api,
    accelerator_architecture_name,
    accelerator_count,
    calculate_virtual_device_count,
    devices_exist,
    enable_all_peer_access,
    load_devices,
    scan_available_devices,
)
from kvern.dtype import DType


def test_cpu():
    cpu = CPU()
    assert (cpu.id, cpu.label, cpu.api, cpu.is_host) == (0, "cpu", "cpu", True)
    assert repr(cpu) == str(cpu) == "Device(type=cpu,id=0)"
    assert cpu == CPU(0) == Device.cpu() and hash(cpu) == hash(CPU(0))
    assert cpu.can_access(CPU()) and cpu.is_compatible
    assert cpu.stats["total_memory"] >= cpu.stats["free_memory"] > 0
    with pytest.raises(ValueError):
        _ = cpu.architecture_name
    with pytest.raises(ValueError, match="CPU id"):
        CPU(1)
    with pytest.raises(TypeError):
        Device()  # pyright: ignore


def test_no_accelerator():
    assert accelerator_count() == 0
    assert accelerator_api() == "cpu"
    for make in (
        Accelerator,
        Device.accelerator,
        lambda: Accelerator(3),
        accelerator_architecture_name,
    ):
        with pytest.raises(ValueError, match=r"accelerator_count\(\) is 0"):
            make()
    enable_all_peer_access()


def test_discovery():
    assert scan_available_devices() == [DeviceSpec.cpu()]
    assert devices_exist([DeviceSpec.cpu(), DeviceSpec.cpu(0)])
    assert not devices_exist([DeviceSpec.cpu(), DeviceSpec.accelerator()])
    assert load_devices([DeviceSpec.cpu()]) == [CPU()]
    with pytest.raises(ValueError):
        load_devices([DeviceSpec.accelerator(1)])
    assert calculate_virtual_device_count([DeviceSpec.accelerator(3)], [DeviceSpec.cpu()]) == 4
    with pytest.raises(ValueError):
        DeviceSpec(0, "tpu")  # pyright: ignore


def test_streams_and_events():
    stream = DeviceStream(CPU())
    assert stream.device == CPU() and stream.native_stream_handle == 0
    start, end = DeviceEvent(CPU(), enable_timing=True), DeviceEvent(CPU(), enable_timing=True)
    assert stream.record_event(start) is None
    stream.wait_for(CPU())
    stream.wait_for(DeviceStream(CPU()))
    stream.synchronize()
    stream.record_event(end)
    assert end.is_ready()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    event = stream.record_event()
    with pytest.raises(ValueError, match="enable_timing"):
        event.elapsed_time(end)
    with pytest.raises(ValueError):
        DeviceEvent("cpu")  # pyright: ignore


def test_allocation_forms():
    for buffer in (
        Buffer(DType.float32, (5, 10)),
        Buffer(shape=[5, 10], dtype=DType.float32),
        Buffer(DType.float32, (5, 10), CPU()),
        Buffer(DType.float32, (5, 10), DeviceStream(CPU())),
        Buffer(DType.float32, (5, 10), stream=DeviceStream(CPU())),
        Buffer.zeros((5, 10), DType.float32),
        Buffer(np.zeros((5, 10), np.float32), CPU()),
        Buffer(shape=np.zeros((5, 10), np.float32), device=CPU()),
    ):
        assert buffer.shape == (5, 10)
        assert buffer.dtype is DType.float32
        assert (buffer.rank, buffer.num_elements, buffer.element_size) == (2, 50, 4)
        assert buffer.device == CPU() and buffer.stream.device == CPU() and buffer.is_host
        assert buffer.is_contiguous and not buffer.pinned
        assert repr(buffer) == "Buffer([5, 10], float32, cpu:0)"
    assert Buffer(DType.int8, ())._core.address % 64 == 0
    assert Buffer(DType.int8, (0, 3)).num_elements == 0


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((DType.float32, (2, -1)), ValueError, "sizes >= 0"),
        ((DType.float32, (2**40, 2**40)), ValueError, "fits in memory"),
        ((DType.float32, (2**55,)), MemoryError, "no memory"),
        ((DType.float32, "ab"), ValueError, "shape"),
        ((DType.float32, (1.5,)), ValueError, "shape"),
        ((np.float32, (2,)), TypeError, "DType"),
        ((DType.float32, (2,), "cpu"), ValueError, "Device"),
        ((DType.float32, (2,), CPU(), True), ValueError, "pinned"),
        ((DType.float32,), ValueError, "shape"),
    ],
)
def test_allocation_errors(arguments, error, text):
    with pytest.raises(error, match=text):
        Buffer(*arguments)


def test_pinned_buffers_need_an_accelerator():
    with pytest.raises(ValueError, match="accelerator"):
        DevicePinnedBuffer(DType.float32, (2,), CPU())
    with pytest.raises(ValueError, match="accelerator"):
        DevicePinnedBuffer.zeros((2,), DType.float32)


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_every_dtype(dtype: DType):
    buffer = Buffer.zeros((2, 3), dtype)
    array = buffer.to_numpy()
    assert array.dtype == dtype.to_ml_dtypes() and array.shape == (2, 3)
    back = Buffer.from_numpy(array)
    assert back.dtype is dtype and back._core.address == buffer._core.address
    buffer[1, 1] = 1
    assert back[1, 1].item() == 1
    assert type(buffer[1, 1].item()) is (
        bool if dtype is DType.bool else float if dtype.is_float() else int
    )
    assert Buffer.scalar(1, dtype).item() == 1
    assert Buffer.from_dlpack(buffer.copy()).dtype is dtype


@pytest.mark.parametrize("dtype", [d for d in DType if hasattr(torch, d.name)], ids=str)
def test_dlpack_with_torch(dtype: DType):
    buffer = Buffer.zeros((3, 4), dtype)
    buffer[1, 2] = 1
    tensor = torch.from_dlpack(buffer)
    assert tensor.dtype is dtype.to_torch() and tensor.shape == (3, 4)
    assert tensor.data_ptr() == buffer._core.address
    back = Buffer.from_dlpack(tensor.T)
    assert back.dtype is dtype and back.shape == (4, 3) and not back.is_contiguous
    assert back[2, 1].item() == 1
    assert back._core.address == buffer._core.address


@pytest.mark.parametrize(
    "dtype",
    [
        d
        for d in DType
        if d not in (DType.bfloat16,) and not d.name.startswith(("float8", "float4"))
    ],
    ids=str,
)
def test_dlpack_with_numpy(dtype: DType):
    buffer = Buffer.zeros((3, 4), dtype)
    array = np.from_dlpack(buffer)
    assert array.dtype == dtype.to_numpy()
    assert array.__array_interface__["data"][0] == buffer._core.address


def test_dlpack_protocol():
    buffer = Buffer.zeros((2,), DType.float32)
    assert isinstance(buffer, DLPackArray) and isinstance(np.zeros(1), DLPackArray)
    assert isinstance(torch.zeros(1), DLPackArray) and not isinstance([1], DLPackArray)
    assert buffer.__dlpack_device__() == (1, 0)
    capsule = buffer.__dlpack__()
    assert "dltensor" in repr(capsule)
    assert "dltensor_versioned" in repr(buffer.__dlpack__(max_version=(1, 0)))
    from kvern import _runtime

    _runtime.Buffer.import_dlpack(capsule)
    with pytest.raises(TypeError, match="unused DLPack capsule"):
        _runtime.Buffer.import_dlpack(capsule)
    with pytest.raises(BufferError):
        buffer.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        buffer.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="DLPack"):
        Buffer.from_dlpack([1, 2])
    copy = torch.from_dlpack(buffer.__dlpack__(copy=True))
    copy[0] = 5
    assert buffer[0].item() == 0
    with pytest.raises(ValueError, match="element type"):
        Buffer.from_dlpack(torch.zeros(2, dtype=torch.complex64))
    assert Buffer.from_dlpack(buffer, copy=True)._core.address != buffer._core.address


def test_dlpack_read_only():
    array = np.arange(3)
    array.flags.writeable = False
    buffer = Buffer.from_dlpack(array)
    assert not buffer.to_numpy().flags.writeable
    assert not np.from_dlpack(buffer).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        buffer.__dlpack__()
    with pytest.raises(ValueError, match="read-only"):
        buffer[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        buffer.inplace_copy_from(np.arange(3))


def test_memory_lives_as_long_as_anything_uses_it():
    array = np.arange(6.0)
    alive = weakref.ref(array)
    buffer = Buffer.from_numpy(array)
    view = buffer[2:4]
    tensor = torch.from_dlpack(view)
    del array, buffer, view
    gc.collect()
    assert alive() is not None and tensor.tolist() == [2.0, 3.0]
    del tensor
    gc.collect()
    assert alive() is None

    numpy_view = Buffer.scalar(7, DType.int64).to_numpy()
    gc.collect()
    assert numpy_view == 7
    tensor = torch.arange(3)
    buffer = Buffer.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert buffer.to_numpy().tolist() == [0, 1, 2]


indices = st.deferred(lambda: hnp.basic_indices((3, 4, 5), allow_newaxis=True, allow_ellipsis=True))


@given(index=indices)
def test_slicing_agrees_with_numpy(index):
    array = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    view = Buffer.from_numpy(array)[index]
    expected = array[index]
    assert view.shape == np.shape(expected)
    assert np.array_equal(view.to_numpy(), expected)
    assert np.array_equal(view.contiguous().to_numpy(), expected)
    if isinstance(expected, np.ndarray):
        assert view.is_contiguous == expected.flags.c_contiguous


@given(first=indices, second=st.slices(3))
def test_views_of_views_share_memory(first, second):
    array = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    buffer = Buffer.from_numpy(array)[second]
    if np.shape(array[second]) == (3, 4, 5):
        view = buffer[first]
        view.inplace_copy_from(np.full(view.shape, -1, np.int32))
        assert (array[second][first] == -1).all()


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        ((..., ...), IndexError),
        ([0, 1], TypeError),
        (True, TypeError),
        (1.0, TypeError),
        ("a", TypeError),
    ],
)
def test_index_errors(index, error):
    with pytest.raises(error):
        Buffer.zeros((3, 4), DType.int8)[index]


def test_set_element():
    buffer = Buffer.zeros((2, 2), DType.int32)
    buffer[1, -1] = 7
    buffer[0, 0] = Buffer.scalar(3, DType.int64)
    assert buffer.to_numpy().tolist() == [[3, 0], [0, 7]]
    with pytest.raises(ValueError, match="one element"):
        buffer[0] = 1
    with pytest.raises(NotImplementedError):
        buffer[:, 1] = 2


def test_item_needs_one_element():
    assert Buffer.from_numpy(np.array([[4]])).item() == 4
    with pytest.raises(ValueError, match=r"\[2\]"):
        Buffer.zeros((2,), DType.int8).item()


def test_view_as_other_dtype():
    buffer = Buffer.from_numpy(np.arange(4, dtype=np.float32))
    assert buffer.view(DType.uint8).shape == (16,)
    assert buffer.view(DType.int32, (2, 2)).to_numpy()[0, 1] == np.float32(1).view(np.int32)
    assert buffer.view(DType.float64).shape == (2,)
    with pytest.raises(ValueError, match="16"):
        buffer.view(DType.float32, (3,))
    with pytest.raises(ValueError, match="contiguous"):
        buffer[::2].view(DType.int32, (2,))
    with pytest.raises(ValueError):
        Buffer.zeros((3,), DType.uint8).view(DType.float32)


def test_to_and_copy():
    buffer = Buffer.from_numpy(np.arange(6).reshape(2, 3))
    assert buffer.to(CPU()) is buffer
    assert buffer.to(DeviceStream(CPU())) is buffer
    assert buffer.to([CPU(), CPU()]) == [buffer, buffer]
    for copy in (buffer.copy(), buffer.copy(CPU()), buffer.copy(DeviceStream(CPU()))):
        assert np.array_equal(copy, buffer) and copy._core.address != buffer._core.address
    transposed = Buffer.from_numpy(np.arange(6).reshape(2, 3).T)
    assert not transposed.is_contiguous
    assert transposed.contiguous().is_contiguous
    assert np.array_equal(transposed.contiguous(), transposed)
    with pytest.raises(ValueError):
        buffer.inplace_copy_from(np.zeros((3, 2), np.int64))
    with pytest.raises(ValueError):
        buffer.inplace_copy_from(np.zeros((2, 3), np.float64))


def test_overlapping_copy():
    array = np.arange(10)
    Buffer.from_numpy(array)[1:].inplace_copy_from(Buffer.from_numpy(array)[:-1])
    assert array.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_array_protocol():
    buffer = Buffer.zeros((2,), DType.float32)
    assert np.asarray(buffer).dtype == np.float32
    assert np.asarray(buffer, dtype=np.float64).dtype == np.float64
    assert np.add(buffer, 1).tolist() == [1, 1]
    assert [each.item() for each in buffer] == [0, 0] and len(buffer) == 2
    with pytest.raises(TypeError):
        len(Buffer.scalar(1, DType.int8))


@pytest.mark.parametrize("bad", [np.zeros(2, np.complex64), np.array(["a"]), np.zeros(2, ">f4")])
def test_from_numpy_errors(bad):
    with pytest.raises(ValueError, match="unsupported NumPy dtype"):
        Buffer.from_numpy(bad)


def test_from_numpy_of_odd_layouts():
    record = np.zeros(3, np.dtype([("a", "i1"), ("b", "<f4")]))
    with pytest.raises(ValueError, match="strides"):
        Buffer.from_numpy(record["b"])
    negative = np.arange(4)[::-1]
    assert Buffer.from_numpy(negative).to_numpy().tolist() == [3, 2, 1, 0]
    assert Buffer.from_numpy(np.broadcast_to(np.float32(2), (3,))).to_numpy().tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        Buffer.from_numpy([1])  # pyright: ignore


def test_mmap(tmp_path):
    path = tmp_path / "data.bin"
    np.arange(100, dtype=np.float32).tofile(path)
    buffer = Buffer.mmap(path, DType.float32, (5, 4), offset=4 * 7)
    assert np.array_equal(buffer, np.arange(7, 27, dtype=np.float32).reshape(5, 4))
    buffer[0, 0] = -1
    assert np.fromfile(path, np.float32)[7] == 7
    shared = Buffer.mmap(path, DType.float32, 100, mode="readwrite")
    shared[7] = -2
    del shared
    assert np.fromfile(path, np.float32)[7] == -2
    read_only = Buffer.mmap(path, DType.float32, (100,), mode="r")
    with pytest.raises(ValueError, match="read-only"):
        read_only[0] = 1
    assert Buffer.mmap(path, DType.float32, (0,), offset=400).num_elements == 0


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"shape": (101,)}, OSError, "404 bytes"),
        ({"offset": 4}, OSError, "offset 4"),
        ({"offset": -1}, ValueError, "offset"),
        ({"mode": "w"}, ValueError, "mode"),
        ({"shape": (-1,)}, ValueError, "sizes"),
        ({"dtype": "float32"}, TypeError, "DType"),
    ],
)
def test_mmap_errors(tmp_path, arguments, error, text):
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(400))
    with pytest.raises(error, match=text):
        Buffer.mmap(path, **{"dtype": DType.float32, "shape": (100,), **arguments})
    with pytest.raises(FileNotFoundError):
        Buffer.mmap(tmp_path / "absent", DType.int8, 1)


def test_release_from_other_threads():
    def work():
        for _ in range(200):
            buffer = Buffer.from_numpy(np.arange(100))
            torch.from_dlpack(buffer).sum()
            del buffer

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_large_zeros_take_memory_where_they_are_written():
    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    before = resident()
    size = 1 << 30
    buffer = Buffer.zeros([size], DType.uint8)
    array = buffer.to_numpy()
    assert array.ctypes.data % 64 == 0
    assert not array[:: 1 << 28].any() and array[-1] == 0
    array[size // 2] = 1
    assert buffer.to_numpy()[size // 2 - 1 : size // 2 + 2].tolist() == [0, 1, 0]
    assert resident() - before < size // 8
    del buffer, array
    assert resident() - before < size // 8
