# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory with a dtype and a shape."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kvern import _runtime
from kvern.driver._indexing import view_of
from kvern.driver.device import CPU, Device, DeviceStream
from kvern.dtype import DType
from kvern.errors import (
    DeviceError,
    DTypeError,
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedError,
)

__all__ = ["Buffer", "DLPackArray"]

_HOST = CPU()
_MMAP_MODES = {
    "copyonwrite": "c",
    "c": "c",
    "readonly": "r",
    "r": "r",
    "readwrite": "r+",
    "r+": "r+",
}
# What NumPy holds bytes of the ml_dtypes types in, on the way in and out.
_CARRIERS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


def _is_extension(dtype: np.dtype[Any]) -> bool:
    return dtype.isbuiltin != 1


_BY_CODE = {dtype.value: dtype for dtype in DType}
# dtype code: the type NumPy is told, and the type to view it as (None: the same).
_NUMPY_VIEWS = {
    dtype.value: (_CARRIERS[dtype.size_in_bytes].str, dtype.to_ml_dtypes())
    if _is_extension(dtype.to_ml_dtypes())
    else (dtype.to_ml_dtypes().str, None)
    for dtype in DType
}


@runtime_checkable
class DLPackArray(Protocol):
    """An array that speaks DLPack: NumPy arrays, Buffers, torch tensors and many more."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns a DLPack capsule."""
        ...

    def __dlpack_device__(self) -> Any:
        """Returns the device type and id."""
        ...


class _Holder:
    """Lets NumPy see memory, and keeps it alive."""

    __slots__ = ("__array_interface__", "_core")

    def __init__(self, core: _runtime.Buffer, typestr: str) -> None:
        self._core = core
        self.__array_interface__ = core.array_interface(typestr)


class Buffer:
    """An n-dimensional array in the memory of a device.

    Slicing gives views of the same memory. Buffers come from NumPy arrays and DLPack tensors without a copy, and
    go back in the same way.
    """

    __slots__ = ("__weakref__", "_core")

    _core: _runtime.Buffer

    def __init__(
        self,
        dtype: DType | npt.NDArray[Any] | None = None,
        shape: Sequence[int] | npt.NDArray[Any] | Device | None = None,
        device: Device | DeviceStream | None = None,
        pinned: bool = False,
        *,
        stream: DeviceStream | None = None,
    ) -> None:
        """Allocates memory, or wraps a host array.

        The forms are `Buffer(dtype, shape, device=None, pinned=False)`, `Buffer(dtype, shape, stream)` and
        `Buffer(array, device)`. New memory has undefined contents; `zeros` has not.

        Args:
            dtype: Element type; or a NumPy array to share memory with.
            shape: Sizes, each >= 0; or the array, when given by keyword.
            device: Where the memory is; default the host CPU.
            pinned: Whether the memory is page-locked; needs an accelerator.
            stream: Whose device the memory is on.

        Raises:
            TypeError: `dtype` is not a DType.
            ValueError: A negative size, a device that does not exist, or `pinned` without an accelerator.
        """
        if isinstance(dtype, np.ndarray):
            if isinstance(shape, Device):
                shape, device = None, shape
            _host_device(device, stream, pinned)
            self._core = _core_of_numpy(dtype)
            return
        if isinstance(shape, np.ndarray) and dtype is None:
            _host_device(device, stream, pinned)
            self._core = _core_of_numpy(shape)
            return
        if not isinstance(dtype, DType):
            raise DTypeError(f"expected a DType or a NumPy array, but got {dtype!r}")
        if shape is None or isinstance(shape, Device):
            raise ShapeError(f"expected a shape, but got {shape!r}")
        _host_device(device, stream, pinned)
        self._core = _runtime.Buffer.allocate(dtype.value, _as_shape(shape))

    # --- Making buffers ---------------------------------------------------------------------------------------

    @classmethod
    def _wrap(cls, core: _runtime.Buffer) -> Buffer:
        self = object.__new__(cls)
        self._core = core
        return self

    @staticmethod
    def zeros(
        shape: Sequence[int],
        dtype: DType,
        device: Device | None = None,
        stream: DeviceStream | None = None,
        pinned: bool = False,
    ) -> Buffer:
        """Allocates memory filled with zeros.

        Args:
            shape: Sizes, each >= 0.
            dtype: Element type.
            device: Where the memory is; default the host CPU.
            stream: Whose device the memory is on.
            pinned: Whether the memory is page-locked; needs an accelerator.

        Raises:
            ValueError: A negative size, a device that does not exist, or `pinned` without an accelerator.
        """
        _host_device(device, stream, pinned)
        _check_dtype(dtype)
        return Buffer._wrap(_runtime.Buffer.allocate(dtype.value, _as_shape(shape), True))

    @staticmethod
    def scalar(value: float, dtype: DType, device: Device | None = None) -> Buffer:
        """Allocates a buffer of rank 0 that holds `value`.

        Args:
            value: A number or a bool.
            dtype: Element type.
            device: Where the memory is; default the host CPU.
        """
        _host_device(device, None, False)
        _check_dtype(dtype)
        result = Buffer._wrap(_runtime.Buffer.allocate(dtype.value, []))
        result.to_numpy()[...] = value
        return result

    @staticmethod
    def from_numpy(arr: npt.NDArray[Any]) -> Buffer:
        """Shares the memory of a NumPy array; nothing is copied, and views stay views.

        Args:
            arr: An array of any dtype that `DType.from_numpy` knows; read-only ones give read-only buffers.

        Raises:
            ValueError: The dtype is not supported.
        """
        if not isinstance(arr, np.ndarray):
            raise InputTypeError(f"expected a NumPy array, but got {type(arr).__name__}")
        return Buffer._wrap(_core_of_numpy(arr))

    @staticmethod
    def from_dlpack(array: Any, *, copy: bool | None = None) -> Buffer:
        """Shares the memory of an array that speaks DLPack.

        Args:
            array: A NumPy array or scalar, a Buffer, a torch tensor, or any other `DLPackArray` on the CPU.
            copy: True copies always; False and None never do.

        Raises:
            TypeError: `array` does not speak DLPack.
            ValueError: Its memory is not on the CPU, or its element type is not supported.
        """
        if isinstance(array, Buffer):
            result = array
        elif isinstance(array, (np.ndarray, np.generic)):
            # NumPy exports neither its extension types nor, before 2.1, read-only arrays.
            result = Buffer._wrap(_core_of_numpy(np.asarray(array)))
        # isinstance of a protocol takes microseconds.
        elif hasattr(array, "__dlpack__"):
            result = Buffer._wrap(_core_of_dlpack(array))
        else:
            raise InputTypeError(
                f"expected an array that speaks DLPack, but got {type(array).__name__}"
            )
        return result.copy() if copy else result

    @staticmethod
    def mmap(
        filename: str | os.PathLike[str],
        dtype: DType,
        shape: Sequence[int] | int,
        mode: str = "copyonwrite",
        offset: int = 0,
    ) -> Buffer:
        """Maps part of a file; what is not touched is not read.

        The file must keep its size while the buffer lives.

        Args:
            filename: Path of the file.
            dtype: Element type of the data, little-endian.
            shape: Sizes; an int for one dim.
            mode: "copyonwrite" (or "c"): writes stay in this process; "readonly" ("r"); "readwrite" ("r+"):
                writes go to the file.
            offset: Bytes before the data.

        Raises:
            FileNotFoundError: There is no such file.
            OSError: The file is too short or cannot be mapped.
            ValueError: An unknown mode, a negative offset or size.
        """
        if mode not in _MMAP_MODES:
            raise InputError(f"expected mode to be one of {list(_MMAP_MODES)}, but got {mode!r}")
        if offset < 0:
            raise InputError(f"expected an offset >= 0, but got {offset}")
        _check_dtype(dtype)
        path = os.fspath(filename)
        # For FileNotFoundError and its kin rather than a FileError.
        os.stat(path)
        sizes = [int(shape)] if isinstance(shape, int) else _as_shape(shape)
        core = _runtime.Buffer.map_file(path, dtype.value, sizes, _MMAP_MODES[mode], offset)
        return Buffer._wrap(core)

    # --- What a buffer is -------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """Element type."""
        return _BY_CODE[self._core.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dims."""
        return self._core.shape

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self._core.shape)

    @property
    def num_elements(self) -> int:
        """Product of the sizes."""
        return self._core.num_elements

    @property
    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.size_in_bytes

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie densely in row-major order, as inputs of models must."""
        return self._core.is_contiguous

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return _HOST

    @property
    def stream(self) -> DeviceStream:
        """The stream that orders work on the memory."""
        return _HOST.default_stream

    @property
    def is_host(self) -> bool:
        """Whether the memory is on the host."""
        return True

    @property
    def pinned(self) -> bool:
        """Whether the memory is page-locked for an accelerator."""
        return False

    def __len__(self) -> int:
        if not self.shape:
            raise InputTypeError("a buffer of rank 0 has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Buffer({list(self.shape)}, {self.dtype}, {self.device.label}:{self.device.id})"

    # --- Elements and views -----------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Buffer:
        """Returns a view of the same memory, as NumPy's basic indexing does.

        Args:
            index: Ints, slices, `...` and None, alone or in a tuple. An int for every dim gives a buffer of
                rank 0; `item()` reads it.

        Raises:
            IndexError: An index is out of range, or there are too many.
            TypeError: Indexing by arrays, lists or bools.
        """
        return Buffer._wrap(self._core.view(*view_of(index, self._core)))

    def __setitem__(self, index: Any, value: Any) -> None:
        """Sets one element.

        Args:
            index: One int per dim.
            value: A number, or a buffer or array of one element.

        Raises:
            ValueError: The index names more than one element (`buf[...].inplace_copy_from(source)` sets many), or
                the buffer is read-only.
        """
        target = self[index]
        if target.rank != 0:
            raise UnsupportedError(
                f"expected an index that names one element of shape {list(self.shape)}, but got {index!r}; "
                "use inplace_copy_from on a view to set several"
            )
        if not self._core.is_writable:
            raise InputError("the buffer is read-only")
        target.to_numpy()[...] = value.item() if isinstance(value, Buffer) else value

    def __iter__(self) -> Iterator[Buffer]:
        return (self[i] for i in range(len(self)))

    def item(self) -> Any:
        """Returns the only element as a Python number or bool.

        Raises:
            ValueError: There is not exactly one element.
        """
        if self.num_elements != 1:
            raise ShapeError(
                f"item() expected exactly one element, but got shape {list(self.shape)}"
            )
        value = self.to_numpy().reshape(())[()]
        if self.dtype is DType.bool:
            return bool(value)
        return float(value) if self.dtype.is_float() else int(value)

    def view(self, dtype: DType, shape: Sequence[int] | None = None) -> Buffer:
        """Returns the same bytes as elements of another type.

        Args:
            dtype: New element type.
            shape: New sizes; by default the same, with the last one scaled.

        Raises:
            ValueError: The buffer is not contiguous, or the bytes do not come out even.
        """
        _check_dtype(dtype)
        if shape is None:
            sizes = list(self.shape)
            if dtype.size_in_bytes != self.element_size:
                if not sizes or sizes[-1] * self.element_size % dtype.size_in_bytes:
                    raise ShapeError(
                        f"expected the last dim of {self!r} to hold whole elements of {dtype}"
                    )
                sizes[-1] = sizes[-1] * self.element_size // dtype.size_in_bytes
        else:
            sizes = _as_shape(shape)
        return Buffer._wrap(self._core.reinterpret(dtype.value, sizes))

    # --- Copies and moves -------------------------------------------------------------------------------------

    def contiguous(self) -> Buffer:
        """Returns a contiguous copy."""
        return self.copy()

    def copy(self, device: Device | DeviceStream | None = None) -> Buffer:
        """Returns a deep, contiguous copy.

        Args:
            device: Where the copy is made, or whose stream makes it; default the same device.
        """
        _host_device(device, None, False)
        core = _runtime.Buffer.allocate(self._core.dtype, list(self.shape))
        core.copy_from(self._core)
        return Buffer._wrap(core)

    def to(self, device: Device | DeviceStream | Sequence[Device | DeviceStream]) -> Any:
        """Returns the buffer on another device; the same buffer when it is there already.

        Args:
            device: A device or a stream, or a list of them.

        Returns:
            A Buffer; for a list, a list of them.

        Raises:
            ValueError: A device does not exist.
        """
        if isinstance(device, (Device, DeviceStream)):
            _host_device(device, None, False)
            return self
        return [self.to(each) for each in device]

    def inplace_copy_from(self, src: Any) -> None:
        """Overwrites the elements with those of another buffer.

        Args:
            src: A Buffer or other DLPack array of the same dtype and shape.

        Raises:
            ValueError: dtype or shape differ, or this buffer is read-only.
        """
        self._core.copy_from(Buffer.from_dlpack(src)._core)

    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns a NumPy array that shares the memory; types NumPy lacks come as those of ml_dtypes."""
        typestr, view_as = _NUMPY_VIEWS[self._core.dtype]
        array = np.asarray(_Holder(self._core, typestr))
        return array if view_as is None else array.view(view_as)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Any:
        array = self.to_numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise InputError(f"cannot convert {self.dtype} to {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Exports the memory by DLPack.

        Args:
            stream: Must be None on the CPU.
            max_version: Newest version that the consumer understands.
            dl_device: Device that the consumer wants; only the CPU.
            copy: True exports a copy.

        Raises:
            BufferError: The memory cannot be exported as asked.
        """
        if stream is not None:
            raise BufferError("DLPack export from the CPU expects stream=None")
        if dl_device is not None and int(dl_device[0]) != 1:
            raise BufferError(f"expected the CPU as DLPack device, but got {tuple(dl_device)}")
        source = self.copy() if copy else self
        versioned = max_version is not None and max_version[0] >= 1
        return source._core.export_dlpack(versioned, bool(copy))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _host_device(
    device: Device | DeviceStream | None, stream: DeviceStream | None, pinned: bool
) -> None:
    """Refuses what only an accelerator can do."""
    for where in (device, stream):
        owner = where.device if isinstance(where, DeviceStream) else where
        if owner is not None and not isinstance(owner, Device):
            raise DeviceError(f"expected a Device or a DeviceStream, but got {where!r}")
        if owner is not None and not owner.is_host:
            raise DeviceError(f"expected the host CPU, but got {owner}")
    if pinned:
        raise DeviceError("pinned memory needs an accelerator, but accelerator_count() is 0")


def _check_dtype(dtype: DType) -> None:
    if not isinstance(dtype, DType):
        raise DTypeError(f"expected a DType, but got {dtype!r}")


def _as_shape(shape: Any) -> list[int]:
    try:
        return [size.__index__() for size in shape]
    except (AttributeError, TypeError):
        raise ShapeError(f"expected a sequence of ints as shape, but got {shape!r}") from None


@functools.cache
def _numpy_entry(dtype: np.dtype[Any]) -> tuple[int, np.dtype[Any] | None]:
    """Our code of a NumPy dtype, and what to view the array as (None: the same)."""
    known = DType.from_numpy(dtype)
    is_view = _NUMPY_VIEWS[known.value][1] is not None
    return known.value, _CARRIERS[known.size_in_bytes] if is_view else None


def _core_of_numpy(array: npt.NDArray[Any]) -> _runtime.Buffer:
    code, carrier = _numpy_entry(array.dtype)
    return _runtime.Buffer.from_buffer(array if carrier is None else array.view(carrier), code)


def _core_of_dlpack(array: DLPackArray) -> _runtime.Buffer:
    try:
        capsule = array.__dlpack__(max_version=(1, 1))
    except TypeError:
        # A producer of the time before versions.
        capsule = array.__dlpack__()
    return _runtime.Buffer.import_dlpack(capsule)
